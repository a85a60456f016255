"""Forgeries of documents, runs and vectors, with honest metrics and every digest made again."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from beirflow.audit.replay.replay import SOURCES
from beirflow.core import layout
from forger import Forger, best_last, named

Change = Callable[[pd.DataFrame], pd.DataFrame]


def five_twice(documents: pd.DataFrame) -> pd.DataFrame:
    documents.loc[:4, "doc_id"] = documents["doc_id"].tolist()[5:10]
    return documents


DOCUMENTS = {name: layout.DOCUMENTS(dataset=name) for name in ("small", "stack-android", "stack-tex")}


def test_documents_that_are_not_those_of_the_source_are_found(forger: Forger) -> None:
    forger.edit_table(DOCUMENTS["small"], lambda documents: documents.assign(text=[text[::-1] for text in documents["text"]]))
    forger.edit_table(DOCUMENTS["stack-android"], five_twice)
    forger.edit_table(DOCUMENTS["stack-tex"], lambda documents: documents.assign(title_bytes=documents["title_bytes"] + 1))
    for name in DOCUMENTS:
        forger.evaluate_again("tiny", name)
    failed = [check for check in forger.failed() if check.name == SOURCES]
    found = {name: named(failed, path) for name, path in DOCUMENTS.items()}
    assert [name for name, checks in found.items() if not checks] == []
    assert {("tiny", "small"), ("second", "small")} <= set(found["small"][0].results)
    assert set(found["stack-tex"][0].results) == {("tiny", "stack"), ("second", "stack")}


def ghosts(run: pd.DataFrame) -> pd.DataFrame:
    """The last documents are none."""
    last = run["rank"] > 18
    return run.assign(doc_id=run["doc_id"].where(~last, "a-ghost-" + (90 - run["rank"]).astype(str)))


FORGED: list[dict[str, Change]] = [
    {
        "tiny/small": lambda run: run[run["rank"] <= 2],
        "second/small": lambda run: run[run["query_id"] == "q0"],
        "second/more": ghosts,
        "tiny/stack-tex": best_last,
    },
    {"tiny/small": best_last, "second/small": lambda run: run.assign(score=run["score"] * np.float32(2))},
]


@pytest.mark.parametrize("changes", FORGED)
def test_runs_that_no_system_made_are_found_by_searching_again(forger: Forger, changes: dict[str, Change]) -> None:
    for name, change in changes.items():
        forger.edit_table(f"runs/{name}.parquet", change)
        forger.evaluate_again(*name.split("/"))
    failed = forger.failed(sample=40)
    assert [name for name in changes if not named(failed, f"runs/{name}.parquet")] == []


def test_runs_that_no_system_can_have_made_are_found_elsewhere(elsewhere: Forger) -> None:
    """A job that only reads results and cannot is no lack of whoever audits."""
    elsewhere.edit_table("runs/tiny/more.parquet", lambda run: run.assign(score=np.float32("nan")))
    elsewhere.digest_again()
    failed = [check.found for check in elsewhere.failed()]
    assert any("tiny/more" in found for found in failed)


def test_vectors_that_are_no_array_or_have_another_form_are_found(forger: Forger) -> None:
    queries = forger.path("embeddings/tiny/small/queries.npy").read_bytes()
    for system, content in {"tiny": b"not numpy", "second": queries}.items():
        forger.replace(f"embeddings/{system}/small/chunk-0.npy", content)
    forger.digest_again()
    found = {result for check in forger.failed(sample=5) for result in check.results}
    assert {("tiny", "small"), ("second", "small")} <= found
