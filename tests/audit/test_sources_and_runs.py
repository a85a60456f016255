"""Forgeries of documents, runs and vectors, with honest metrics and every digest made again."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core import layout
from forger import Forger, best_last, named, put


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
    failed = forger.failed()
    found = {name: [check for check in named(failed, path) if "source" in check.name] for name, path in DOCUMENTS.items()}
    assert [name for name, checks in found.items() if not checks] == []
    assert {("tiny", "small"), ("second", "small")} <= set(found["small"][0].results)
    assert set(found["stack-tex"][0].results) == {("tiny", "stack"), ("second", "stack")}


def test_documents_that_no_corpus_can_have_are_found_elsewhere(elsewhere: Forger) -> None:
    elsewhere.replace(DOCUMENTS["small"], b"junk")
    table = pq.read_table(elsewhere.path(DOCUMENTS["stack-tex"]))
    elsewhere.path(DOCUMENTS["stack-tex"]).unlink()
    pq.write_table(table.append_column("licence", table["doc_id"]), elsewhere.path(DOCUMENTS["stack-tex"]), row_group_size=20)
    elsewhere.edit_table(DOCUMENTS["stack-android"], five_twice)
    elsewhere.digest_again()
    failed = elsewhere.failed()
    assert named(failed, DOCUMENTS["small"])
    for name, says in {"stack-tex": "has further columns, licence", "stack-android": "come twice"}.items():
        assert any(says in check.found for check in named(failed, DOCUMENTS[name])), name


def test_records_that_say_other_things_than_the_files_of_their_models_are_found(forger: Forger) -> None:
    """Where no setting names the similarity, runs follow from what the record says of it."""
    forger.edit("models/tiny.json", put("card", "similarity", value="cosine"))
    forger.edit("models/second.json", put("card", "prompts", "queries", value="query: "))
    forger.digest_summary_again()
    failed = forger.failed()
    for name, key in {"models/tiny.json": "similarity", "models/second.json": "prompts"}.items():
        (found,) = [check for check in failed if check.files == (name,)]
        assert found.name == "records say what the files of models say"
        assert found.expected.startswith(f"{name} says {key} ")


def ghosts(run: pd.DataFrame) -> pd.DataFrame:
    """The last documents are none."""
    last = run["rank"] > 18
    return run.assign(doc_id=run["doc_id"].where(~last, "zz-ghost-" + run["rank"].astype(str)))


def extra_query(run: pd.DataFrame) -> pd.DataFrame:
    more = run[run["query_id"] == "q1"].assign(query_id="q1-extra")
    return pd.concat([run[run["query_id"] < "q2"], more, run[run["query_id"] >= "q2"]])


IMPOSSIBLE: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "tiny/small": (lambda run: run[run["rank"] <= 2], "expected 20, since every document has a score"),
    "second/small": (lambda run: run[run["query_id"] == "q0"], "'q1' has 0 documents, expected 20"),
    "tiny/more": (lambda run: run.assign(score=np.float32("nan")), "no finite number"),
    "second/more": (ghosts, "the first is 'zz-ghost-19'"),
    "tiny/stack-tex": (extra_query, "'q1-extra' is no query"),
    "second/stack-tex": (lambda run: run.sort_values("query_id", ascending=False, kind="stable"), "not in its place"),
}


def test_runs_that_no_system_can_have_made_are_found_elsewhere(elsewhere: Forger) -> None:
    for name, (change, _) in IMPOSSIBLE.items():
        elsewhere.edit_table(f"runs/{name}.parquet", change)
    elsewhere.digest_again()
    failed = elsewhere.failed()
    found = {name: [check.found for check in named(failed, f"runs/{name}.parquet")] for name in IMPOSSIBLE}
    assert [name for name, (_, says) in IMPOSSIBLE.items() if not any(says in each for each in found[name])] == []


def test_scores_of_more_digits_than_a_run_has_are_found_elsewhere(made_of_runs: Forger) -> None:
    """They could put a relevant document before others with the same score."""
    names = [layout.RUN(system=system, dataset="small") for system in ("fused", "reranked", "tiny")]
    for name in names:
        run = pq.read_table(made_of_runs.path(name))
        made_of_runs.path(name).unlink()
        pq.write_table(run.set_column(2, "score", run["score"].cast(pa.float64())), made_of_runs.path(name))
    made_of_runs.digest_summary_again()
    failed = Forger(made_of_runs.results).failed()
    assert [name for name in names if not any("score: double" in check.found for check in named(failed, name))] == []


SEARCHED = "queries searched again have the recorded ranks"


def test_runs_that_could_be_some_are_found_by_searching_again(forger: Forger) -> None:
    changes = {"tiny": best_last, "second": lambda run: run.assign(score=run["score"] * np.float32(2))}
    for system, change in changes.items():
        forger.edit_table(layout.RUN(system=system, dataset="small"), change)
        forger.evaluate_again(system, "small")
    failed = forger.failed(sample=4)
    for system in changes:
        assert SEARCHED in [check.name for check in named(failed, layout.RUN(system=system, dataset="small"))], system


@pytest.mark.parametrize("change", [lambda run: run[run["rank"] <= 2], best_last], ids=["cut", "best last"])
def test_runs_that_do_not_follow_from_their_postings_are_found_without_sample_and_models(
    families: Forger, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    names = {system: layout.RUN(system=system, dataset="small") for system in ("words", "expanded", "masked")}
    for system, name in names.items():
        families.edit_table(name, change)
        families.evaluate_again(system, "small")
    failed = Forger(families.results).failed()
    assert [[check.name for check in named(failed, name)] for name in names.values()] == [[SEARCHED]] * 3


def test_vectors_that_are_no_array_or_have_another_form_are_found_elsewhere(elsewhere: Forger) -> None:
    queries = elsewhere.path("embeddings/tiny/small/queries.npy").read_bytes()
    contents = {"embeddings/tiny/small/chunk-0.npy": b"not numpy", "embeddings/second/small/chunk-0.npy": queries}
    for name, content in contents.items():
        elsewhere.replace(name, content)
    elsewhere.digest_again()
    failed = [f"{check.found} {check.expected}" for check in elsewhere.failed()]
    assert [name for name in contents if not any(name in text for text in failed)] == []


def test_rows_that_come_twice_are_found_elsewhere(elsewhere: Forger) -> None:
    names = ["metrics/tiny/small.parquet", "corpora/more/qrels.parquet", "corpora/stack-tex/queries.parquet"]
    for name in names:
        elsewhere.edit_table(name, lambda rows: pd.concat([rows.iloc[:1], rows]))
    elsewhere.digest_again()
    failed = elsewhere.failed()
    assert [name for name in names if not named(failed, name)] == []


def test_scores_of_dense_systems_that_moved_by_one_bit_are_found_elsewhere(forger: Forger) -> None:
    """Searches sum in float64: a score one step higher could put a relevant document before others with the same text."""
    names = {system: layout.RUN(system=system, dataset="small") for system in ("tiny", "second")}
    for system, name in names.items():
        forger.edit_table(name, lambda rows: rows.assign(score=np.nextafter(rows["score"].to_numpy(), np.float32(np.inf))))
        forger.evaluate_again(system, "small")
    failed = Forger(forger.results).failed()
    assert [[check.name for check in named(failed, name)] for name in names.values()] == [[SEARCHED]] * 2
