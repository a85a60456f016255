"""Forgeries of documents, runs and vectors, with honest metrics and every digest made again."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forger import Forger, best_last, named, put

DOCUMENTS = "corpora/small/documents.parquet"
RUN = "runs/tiny/small.parquet"
BOTH = [("second", "small"), ("tiny", "small")]


def five_twice(documents: pd.DataFrame) -> pd.DataFrame:
    documents.loc[:4, "doc_id"] = documents["doc_id"].tolist()[10:15]
    return documents


@pytest.mark.parametrize(
    "change",
    [
        lambda documents: documents.assign(text=[text[::-1] for text in documents["text"]]),
        five_twice,
        lambda documents: documents.assign(title_bytes=documents["title_bytes"] + 1),
    ],
    ids=["other texts of the same lengths", "five twice", "longer titles"],
)
def test_documents_that_are_not_those_of_the_source_are_found(
    forger: Forger, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    forger.edit_table(DOCUMENTS, change)
    forger.evaluate_again("tiny", "small")
    found = [check for check in named(forger.failed(), DOCUMENTS) if "source" in check.name]
    assert found
    assert list(found[0].results) == [("second", "more"), *BOTH, ("tiny", "more")] or list(found[0].results) == BOTH


def test_documents_that_are_no_table_are_found_elsewhere(elsewhere: Forger) -> None:
    elsewhere.replace(DOCUMENTS, b"junk")
    elsewhere.digest_again()
    assert named(elsewhere.failed(), DOCUMENTS)


def test_documents_with_a_column_that_nothing_confirms_are_found_elsewhere(elsewhere: Forger) -> None:
    table = pq.read_table(elsewhere.path(DOCUMENTS))
    elsewhere.path(DOCUMENTS).unlink()
    pq.write_table(table.append_column("licence", table["doc_id"]), elsewhere.path(DOCUMENTS), row_group_size=20)
    elsewhere.digest_summary_again()
    assert any("has further columns, licence" in check.found for check in named(elsewhere.failed(), DOCUMENTS))


def test_documents_that_come_twice_are_found_elsewhere(elsewhere: Forger) -> None:
    elsewhere.edit_table(DOCUMENTS, five_twice)
    elsewhere.digest_summary_again()
    assert any("come twice" in check.found for check in elsewhere.failed())


@pytest.mark.parametrize(("keys", "value"), [(("similarity",), "cosine"), (("prompts", "queries"), "query: ")])
def test_a_record_that_says_other_things_than_the_files_of_its_model_is_found(
    forger: Forger, keys: tuple[str, ...], value: str
) -> None:
    """Where no setting names the similarity, runs follow from what the record says of it."""
    forger.edit("models/tiny.json", put("card", *keys, value=value))
    forger.digest_summary_again()
    found = [check for check in forger.failed() if check.files == ("models/tiny.json",)]
    assert [check.name for check in found] == ["records say what the files of models say"]
    assert found[0].expected.startswith(f"models/tiny.json says {keys[0]} ")


def ghosts(run: pd.DataFrame) -> pd.DataFrame:
    """The last documents are none."""
    last = run["rank"] > 18
    return run.assign(doc_id=run["doc_id"].where(~last, "zz-ghost-" + run["rank"].astype(str)))


def extra_query(run: pd.DataFrame) -> pd.DataFrame:
    more = run[run["query_id"] == "q1"].assign(query_id="q1-extra")
    return pd.concat([run[run["query_id"] < "q2"], more, run[run["query_id"] >= "q2"]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda run: run[run["rank"] <= 2], "expected 20, since every document has a score"),
        (lambda run: run[run["query_id"] == "q0"], "'q1' has 0 documents, expected 20"),
        (lambda run: run.assign(score=np.float32("nan")), "no finite number"),
        (ghosts, "the first is 'zz-ghost-19'"),
        (extra_query, "'q1-extra' is no query"),
        (lambda run: run.sort_values("query_id", ascending=False, kind="stable"), "not in its place"),
    ],
)
def test_a_run_that_no_system_can_have_made_is_found_elsewhere(
    elsewhere: Forger, change: Callable[[pd.DataFrame], pd.DataFrame], says: str
) -> None:
    elsewhere.edit_table(RUN, change)
    elsewhere.digest_again()
    assert any(says in check.found for check in named(elsewhere.failed(), RUN))


@pytest.mark.parametrize("system", ["fused", "reranked", "tiny"])
def test_scores_of_more_digits_than_a_run_has_are_found_elsewhere(made_of_runs: Forger, system: str) -> None:
    """They could put a relevant document before others with the same score."""
    name = f"runs/{system}/small.parquet"
    run = pq.read_table(made_of_runs.path(name))
    made_of_runs.path(name).unlink()
    pq.write_table(run.set_column(2, "score", run["score"].cast(pa.float64())), made_of_runs.path(name))
    made_of_runs.digest_summary_again()
    assert any("score: double" in check.found for check in named(Forger(made_of_runs.results).failed(), name))


@pytest.mark.parametrize("change", [best_last, lambda run: run.assign(score=run["score"] * np.float32(2))])
def test_a_run_that_could_be_one_is_found_by_searching_again(
    forger: Forger, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    forger.edit_table(RUN, change)
    forger.evaluate_again("tiny", "small")
    assert "queries searched again have the recorded ranks" in [check.name for check in named(forger.failed(sample=4), RUN)]


@pytest.mark.parametrize("change", [lambda run: run[run["rank"] <= 2], best_last], ids=["cut", "best last"])
@pytest.mark.parametrize("system", ["words", "expanded", "masked"])
def test_a_run_that_does_not_follow_from_its_postings_is_found_without_sample_and_models(
    families: Forger, system: str, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    run = f"runs/{system}/small.parquet"
    families.edit_table(run, change)
    families.evaluate_again(system, "small")
    found = named(Forger(families.results).failed(), run)
    assert [check.name for check in found] == ["queries searched again have the recorded ranks"]


def test_vectors_that_are_no_array_or_have_another_form_are_found_elsewhere(elsewhere: Forger) -> None:
    chunk = "embeddings/tiny/small/chunk-0.npy"
    for content in (b"not numpy", elsewhere.path("embeddings/tiny/small/queries.npy").read_bytes()):
        elsewhere.replace(chunk, content)
        elsewhere.digest_again()
        assert [check.name for check in elsewhere.failed() if chunk in f"{check.found} {check.expected}"]


def test_rows_that_come_twice_are_found_elsewhere(elsewhere: Forger) -> None:
    names = ["metrics/tiny/small.parquet", "corpora/more/qrels.parquet", "corpora/stack-tex/queries.parquet"]
    for name in names:
        elsewhere.edit_table(name, lambda rows: pd.concat([rows.iloc[:1], rows]))
    elsewhere.digest_again()
    failed = elsewhere.failed()
    assert [name for name in names if not named(failed, name)] == []


@pytest.mark.parametrize("system", ["tiny", "second"])
def test_a_score_of_a_dense_system_that_moved_by_one_bit_is_found_elsewhere(forger: Forger, system: str) -> None:
    """Searches sum in float64: a score one step higher could put a relevant document before others with the same text."""
    run = f"runs/{system}/small.parquet"
    forger.edit_table(run, lambda rows: rows.assign(score=np.nextafter(rows["score"].to_numpy(), np.float32(np.inf))))
    forger.evaluate_again(system, "small")
    assert [check.name for check in named(Forger(forger.results).failed(), run)] == [
        "queries searched again have the recorded ranks"
    ]
