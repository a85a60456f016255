"""Collections on hubs, each in the layout that it has there: read as what it is, or refused with the reason."""

from collections.abc import Iterable, Mapping
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

TEXTS = {"corpus": [{"_id": "d1", "title": "", "text": "one"}], "queries": [{"_id": "q1", "text": "one?"}]}
JUDGED = [{"query-id": "q1", "corpus-id": "d1", "score": 1}]
PLAIN = {**TEXTS, "qrels": JUDGED}
NUMBERED = {name: [{"id": row["_id"], "text": row["text"]} for row in rows] for name, rows in TEXTS.items()}
NO_SCORES = [{"query-id": "q1", "corpus-id": "d1"}]
CANDIDATES = [{"query-id": "q1", "corpus-ids": ["d1"]}]
INSTRUCTED = [{"query-id": "q1", "instruction": "Only about one."}]
EXAMPLES = [{"id": "0", "query": "one?", "gold_ids": ["d1"], "excluded_ids": ["N/A"]}]
LONG = {
    "corpus": [{"doc_id": "d1", "text": "one"}],
    "queries": [{"qid": "q1", "text": "one?"}],
    "qrels": [{"qid": "q1", "doc_id": "d1"}],
}
NUGGETS = [{"query_id": "q1", "query_title": "one?", "nuggets": [{"text": "one", "relevant_corpus_ids": ["d1"]}]}]


def of_splits(splits: Iterable[str], configs: Mapping[str, Rows]) -> dict[str, Rows]:
    """The same rows in every split of every config, by ``config/split``."""
    return {f"{config}/{split}": rows for config, rows in configs.items() for split in splits}


def named(form: str, configs: Mapping[str, Rows], split: str = "test") -> dict[str, Rows]:
    """Configs whose names have the language as prefix or suffix."""
    return of_splits([split], {form.format(name): rows for name, rows in configs.items()})


READ: dict[str, tuple[dict[str, Rows], str | None, str]] = {
    "NanoBEIR": (of_splits(["train"], {**TEXTS, "qrels": NO_SCORES}), None, "train"),
    "TREC DL": (of_splits(["test"], {**TEXTS, "default": JUDGED}), None, "test"),
    "MIRACL": (named("ar-{}", PLAIN, "dev"), "ar", "dev"),
    "RTEB": (of_splits(["test"], {**NUMBERED, "qrels": JUDGED}), None, "test"),
    "RTEB, texts in splits of their own": (
        {"corpus/corpus": TEXTS["corpus"], "queries/queries": TEXTS["queries"], "default/test": JUDGED},
        None,
        "test",
    ),
    "BEIR-NL, BEIR-PL": (of_splits(["test"], PLAIN), None, "test"),
    "LongEmbed, one split per length": (of_splits(["test_256", "test_512"], PLAIN), None, "test_256"),
    "CoIR, CodeSearchNet": (named("python-{}", PLAIN) | named("go-{}", PLAIN), "python", "test"),
    "BrowseComp-Plus": (named("gold_only-{}", PLAIN) | named("evidence-{}", PLAIN), "gold_only", "test"),
}
"""Rows by config and split, ``subset``, and ``split``."""

REFUSED: dict[str, tuple[dict[str, Rows], str | None, str, str]] = {
    "BRIGHT": (
        of_splits(["biology"], {"documents": TEXTS["corpus"], "long_documents": TEXTS["corpus"], "examples": EXAMPLES}),
        None,
        "biology",
        "found documents, examples, long_documents; this layout is not read",
    ),
    "BRIGHT, excluded documents as a column": (
        of_splits(["test"], {**PLAIN, "queries": [{**TEXTS["queries"][0], "excluded_ids": ["d1"]}]}),
        None,
        "test",
        "'excluded_ids', which changes what is relevant",
    ),
    "RTEB, CUREv1": (
        of_splits(["dentistry"], {"corpus": TEXTS["corpus"], "queries-en": TEXTS["queries"], "qrels": JUDGED}),
        None,
        "dentistry",
        "expected queries or query in it, found corpus, qrels, queries-en",
    ),
    "RTEB, CUREv1 in English": (
        of_splits(["dentistry"], {"corpus": TEXTS["corpus"], "queries-en": TEXTS["queries"], "qrels": JUDGED}),
        "en",
        "dentistry",
        "expected en-corpus or corpus-en in it",
    ),
    "BEIR-NL, CQADupStack": (
        of_splits(["android"], {**TEXTS, "test": JUDGED}),
        None,
        "android",
        "expected default or qrels in it, found corpus, queries, test",
    ),
    "LongEmbed": (
        {f"narrativeqa/{name}": rows for name, rows in LONG.items()},
        "narrativeqa",
        "test",
        "found narrativeqa; this layout is not read",
    ),
    "FollowIR": (
        of_splits(["test"], {**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}),
        None,
        "test",
        "'top_ranked', so each query has candidates of its own",
    ),
    "mFollowIR": (
        named("{}-fas", {**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}),
        "fas",
        "test",
        "'top_ranked-fas', so each query has candidates of its own",
    ),
    "mFollowIR, instructions alone": (
        named("{}-fas", {**PLAIN, "instruction": INSTRUCTED}),
        "fas",
        "test",
        "'instruction-fas', so its queries come with instructions",
    ),
    "mFollowIR, changed judgements alone": (
        named("{}-fas", {**PLAIN, "qrel_diff": CANDIDATES}),
        "fas",
        "test",
        "'qrel_diff-fas', so its measure compares two runs",
    ),
    "mFollowIR, candidates of all languages in one": (
        named("{}-fas", PLAIN) | of_splits(["test"], {"top_ranked": CANDIDATES}),
        "fas",
        "test",
        "'top_ranked', so each query has candidates of its own",
    ),
    "mFollowIR, no language": (
        named("{}-fas", {**PLAIN, "top_ranked": CANDIDATES}),
        None,
        "test",
        "name one of its languages or parts in 'subset'",
    ),
    "InstructIR": (
        of_splits(["test"], {**PLAIN, "instruction": INSTRUCTED}),
        None,
        "test",
        "'instruction', so its queries come with instructions",
    ),
    "InstructIR, instructions as a column": (
        of_splits(["test"], {**PLAIN, "queries": [{**TEXTS["queries"][0], "instruction": "Only about one."}]}),
        None,
        "test",
        "'instruction', which changes what is relevant",
    ),
    "FreshStack": (of_splits(["test"], {"langchain": NUGGETS}), "langchain", "test", "found langchain; this layout is not read"),
}
"""The same, and part of the message."""


def judgements(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: Mapping[str, Rows], subset: str | None, split: str
) -> list[tuple[Any, ...]]:
    """Fetch a collection from a hub and read its judgements."""
    for name, lines in content.items():
        put_parquet(folder / f"hub/{name}-00000-of-00001.parquet", lines)
    form, record = HubForm("z/collection", REVISION, subset), folder / "results/data/own.json"
    with Hub({form.hub: folder / "hub"}, monkeypatch, folder / "cache"):
        job = Job(folder / "results", "fetch_dataset/own", "c0de")
        fetch_dataset(form=asdict(form), split=split, output_path=str(record), job=job)
    _, qrels = read_judged_queries(HubSource(record, form), split)
    return [tuple(row.values()) for row in qrels.to_pylist()]


@pytest.mark.parametrize("collection", READ)
def test_a_collection_is_read_in_its_own_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: str) -> None:
    assert judgements(tmp_path, monkeypatch, *READ[collection]) == [("q1", "d1", 1)]


@pytest.mark.parametrize("collection", REFUSED)
def test_a_collection_of_another_kind_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: str
) -> None:
    *layout, reason = REFUSED[collection]
    with pytest.raises(DataError) as caught:
        judgements(tmp_path, monkeypatch, *layout)
    assert reason in str(caught.value)
