"""The text of a new configuration, with comments."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beirflow.cli.init.entry import Entry


def configuration(
    path: Path, systems: Sequence[str], datasets: Sequence[str], model: Entry | None, corpus: Entry | None, results: str
) -> str:
    """Return the text of a configuration, with comments for somebody who has none yet."""
    from beirflow.core.layout import REPORT

    names = list(dict.fromkeys([*systems, *([model.name] if model else [])]))
    if model and model.entry.get("first") and model.entry["first"] not in names:
        names.insert(0, model.entry["first"])
    chosen = [name for name in ([corpus.name] if corpus else []) + [*datasets] if name != "all"] or "all"
    file, page = shlex.quote(str(path)), Path(results, REPORT)
    own = f"    {_flow(model.name)}: {_flow(model.entry)}\n" if model and model.entry else ""
    marks = "".join(f"    # assumed: {each}\n" for each in (model.assumed if model and model.entry else ()))
    first, second = [*names, "my-encoder"][:2]
    dataset = f"    {_flow(corpus.name)}: {_flow(corpus.entry)}\n" if corpus else ""
    return f"""# Written by beirflow. The next commands, from the folder in which it was written:
#   beirflow try {file}           every system on 24 documents, before hours of work
#   beirflow estimate {file}      time, downloads and disk space
#   beirflow run {file} report    everything; then open {page}
# Paths that do not begin with / start in the folder in which a command runs. All keys, with their defaults: docs/keys.md

# Systems to evaluate: names of `beirflow list systems`, and those below custom.systems.
systems: {_flow(names)}

# The system that the others are compared with in tables and figures; null: the first.
baseline: {_flow(names[0])}

# Datasets to evaluate on: names of `beirflow list datasets`, and those below custom.datasets; or all, the fifteen public ones of
# BEIR. <name>.<split> is another split, such as nfcorpus.dev.
datasets: {_flow(chosen)}

# Queries of each dataset for a quick look, such as 50; null: all. Such results have names of their own.
sample_queries: null

# Documents kept for each query, and the k of NDCG@k and the other measures (`beirflow list measures`), which cannot be greater.
top_k: 1000
cutoffs: [1, 3, 5, 10, 100, 1000]

# auto | cuda | mps | cpu. auto: a GPU if there is one.
device: auto

# auto | float32 | bfloat16 | float16. float32 gives published numbers to the last digit; auto is bfloat16 where a device has it.
precision: auto

# The folder of all results. Each experiment needs one of its own; a repeated run computes only what is new.
results: {_flow(results)}

# Systems and datasets of your own.
custom:
  systems:{"" if own else " {}"}
{marks}{own}    # A folder, or of a hub {{model: org/name, revision: <40 digits>}}; a fusion of two systems; a re-ranking of one.
    # my-encoder: {{model: /models/my-encoder, pooling: cls, similarity: cosine}}
    # fused: {{family: fusion, of: {_flow([first, second])}, method: rrf}}
    # reranked: {{family: rerank, first: {_flow(first)}, depth: 100, model: /models/cross-encoder}}
  datasets:{"" if dataset else " {}"}
{dataset}    # With corpus.jsonl, queries.jsonl and qrels/test.tsv; docs/datasets.md has other forms.
    # my-corpus: {{path: /data/my-corpus, split: test}}
"""


def _flow(value: Any) -> str:
    """Return a value as YAML in a line."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")
