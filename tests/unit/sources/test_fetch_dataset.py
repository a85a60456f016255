"""Collections on hubs, each in the layout that it has there: read as what it is, or refused with the reason."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from beirflow.datasets.judged_queries import read_judged_queries
from beirflow.files.errors import DataError
from beirflow.files.records import Job
from beirflow.sources.fetch_dataset import fetch_dataset
from beirflow.sources.forms import HubForm
from beirflow.sources.hub_source import HubSource
from hub_datasets import REVISION, Hub, put_parquet

Rows = list[dict[str, Any]]
Layout = tuple[dict[str, Rows], str | None, str]
"""Rows by config and split, ``subset``, and ``split``."""

CORPUS, QUERIES = [{"_id": "d1", "title": "", "text": "one"}], [{"_id": "q1", "text": "one?"}]
JUDGED = [{"query-id": "q1", "corpus-id": "d1", "score": 1}]
TEXTS = {"corpus": CORPUS, "queries": QUERIES}
PLAIN = {**TEXTS, "qrels": JUDGED}
NUMBERED = {name: [{"id": row["_id"], "text": row["text"]} for row in rows] for name, rows in TEXTS.items()}
CANDIDATES = [{"query-id": "q1", "corpus-ids": ["d1"]}]
INSTRUCTED = [{"query-id": "q1", "instruction": "Only about one."}]
BRIGHT = {"documents": CORPUS, "long_documents": CORPUS, "examples": [{"id": "0", "query": "one?", "gold_ids": ["d1"]}]}
CURE = {"corpus": CORPUS, "queries-en": QUERIES, "qrels": JUDGED}
LONG = {"corpus": [{"doc_id": "d1", "text": "one"}], "queries": [{"qid": "q1", "text": "one?"}], "qrels": [{"qid": "q1"}]}
NUGGETS = [{"query_id": "q1", "query_title": "one?", "nuggets": [{"text": "one", "relevant_corpus_ids": ["d1"]}]}]


def layout(configs: Mapping[str, Rows], subset: str | None = None, split: str = "test", form: str = "{}") -> Layout:
    """Configs with a split, whose names may have the language as prefix or suffix."""
    return {f"{form.format(name)}/{split}": rows for name, rows in configs.items()}, subset, split


def together(one: Layout, other: Layout) -> Layout:
    """Two layouts in a repository, of which the first is asked for."""
    return one[0] | other[0], *one[1:]


LAYOUTS = {
    "NanoBEIR": layout({**TEXTS, "qrels": [{"query-id": "q1", "corpus-id": "d1"}]}, split="train"),
    "TREC DL": layout({**TEXTS, "default": JUDGED}),
    "MIRACL": layout(PLAIN, "ar", "dev", "ar-{}"),
    "RTEB": layout({**NUMBERED, "qrels": JUDGED}),
    "RTEB, texts in splits of their own": (
        {"corpus/corpus": CORPUS, "queries/queries": QUERIES, "default/test": JUDGED},
        None,
        "test",
    ),
    "BEIR-NL, BEIR-PL": layout(PLAIN),
    "LongEmbed, one split per length": together(layout(PLAIN, split="test_256"), layout(PLAIN, split="test_512")),
    "CoIR, CodeSearchNet": together(layout(PLAIN, "python", form="python-{}"), layout(PLAIN, form="go-{}")),
    "BrowseComp-Plus": together(layout(PLAIN, "gold_only", form="gold_only-{}"), layout(PLAIN, form="evidence-{}")),
    "BRIGHT": layout(BRIGHT, split="biology"),
    "BRIGHT, excluded documents as a column": layout({**PLAIN, "queries": [{**QUERIES[0], "excluded_ids": ["d1"]}]}),
    "RTEB, CUREv1": layout(CURE, split="dentistry"),
    "RTEB, CUREv1 in English": layout(CURE, "en", "dentistry"),
    "BEIR-NL, CQADupStack": layout({**TEXTS, "test": JUDGED}, split="android"),
    "LongEmbed": ({f"narrativeqa/{name}": rows for name, rows in LONG.items()}, "narrativeqa", "test"),
    "FollowIR": layout({**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}),
    "mFollowIR": layout({**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}, "fas", form="{}-fas"),
    "mFollowIR, instructions alone": layout({**PLAIN, "instruction": INSTRUCTED}, "fas", form="{}-fas"),
    "mFollowIR, changed judgements alone": layout({**PLAIN, "qrel_diff": CANDIDATES}, "fas", form="{}-fas"),
    "mFollowIR, candidates of all languages": together(layout(PLAIN, "fas", form="{}-fas"), layout({"top_ranked": CANDIDATES})),
    "mFollowIR, no language": layout({**PLAIN, "top_ranked": CANDIDATES}, form="{}-fas"),
    "InstructIR": layout({**PLAIN, "instruction": INSTRUCTED}),
    "InstructIR, instructions as a column": layout({**PLAIN, "queries": [{**QUERIES[0], "instruction": "Only about one."}]}),
    "FreshStack": layout({"langchain": NUGGETS}, "langchain"),
}

REASONS = {
    "BRIGHT": "found documents, examples, long_documents; this layout is not read",
    "BRIGHT, excluded documents as a column": "'excluded_ids', which changes what is relevant",
    "RTEB, CUREv1": "expected queries or query in it, found corpus, qrels, queries-en",
    "RTEB, CUREv1 in English": "expected en-corpus or corpus-en in it",
    "BEIR-NL, CQADupStack": "expected default or qrels in it, found corpus, queries, test",
    "LongEmbed": "found narrativeqa; this layout is not read",
    "FollowIR": "'top_ranked', so each query has candidates of its own",
    "mFollowIR": "'top_ranked-fas', so each query has candidates of its own",
    "mFollowIR, instructions alone": "'instruction-fas', so its queries come with instructions",
    "mFollowIR, changed judgements alone": "'qrel_diff-fas', so its measure compares two runs",
    "mFollowIR, candidates of all languages": "'top_ranked', so each query has candidates of its own",
    "mFollowIR, no language": "name one of its languages or parts in 'subset'",
    "InstructIR": "'instruction', so its queries come with instructions",
    "InstructIR, instructions as a column": "'instruction', which changes what is relevant",
    "FreshStack": "found langchain; this layout is not read",
}
"""Parts of the messages about those that are refused."""


def judgements(folder: Path, monkeypatch: pytest.MonkeyPatch, content: Mapping[str, Rows], subset: str | None, split: str) -> Any:
    for name, lines in content.items():
        put_parquet(folder / f"hub/{name}-00000-of-00001.parquet", lines)
    form, record = HubForm("z/collection", REVISION, subset), folder / "results/data/own.json"
    with Hub({form.hub: folder / "hub"}, monkeypatch, folder / "cache"):
        job = Job(folder / "results", "fetch_dataset/own", "c0de")
        fetch_dataset(form=asdict(form), split=split, output_path=str(record), job=job)
    _, qrels = read_judged_queries(HubSource(record, form), split)
    return [tuple(row.values()) for row in qrels.to_pylist()]


@pytest.mark.parametrize("collection", LAYOUTS)
def test_a_collection_is_read_or_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: str
) -> None:
    if collection not in REASONS:
        assert judgements(tmp_path, monkeypatch, *LAYOUTS[collection]) == [("q1", "d1", 1)]
        return
    with pytest.raises(DataError) as caught:
        judgements(tmp_path, monkeypatch, *LAYOUTS[collection])
    assert REASONS[collection] in str(caught.value)
