"""A run is evaluated into one file of every query and one of the means, which names what they were computed from."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json, totals, write_record
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.evaluation.scores import most_documents
from beirflow.ranking.run_file import RUN

Row = tuple[str, str, float, int]

RUN_ROWS: list[Row] = [("q1", "d1", 2.0, 1), ("q1", "d2", 1.0, 2), ("q2", "d9", 1.0, 1), ("q2", "d3", 0.5, 2)]
QRELS = [("q1", "d1", 1), ("q2", "d3", 1), ("q3", "d4", 1), ("q4", "d4", 1)]
COUNTS = {"documents": 9, "queries": 4, "judgements": 4, "judgements_without_document": 1}
SECONDS = {"load": 1.0, "queries": 2.0, "index": 3.0, "search": 4.0, "merge": 5.0}
RUN_PATH, QRELS_PATH, CORPUS_PATH = "runs/toy/tiny.parquet", "corpora/tiny/qrels.parquet", "corpora/tiny/corpus.json"


def prepare(folder: Path, rows: list[Row]) -> dict[str, Any]:
    """Write a run and its judgements; the arguments to evaluate it."""
    run_path, qrels_path = folder / RUN_PATH, folder / QRELS_PATH
    for path in (run_path, qrels_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    run = pa.Table.from_arrays([pa.array(column, field.type) for column, field in zip(columns, RUN, strict=True)], schema=RUN)
    pq.write_table(run, run_path)
    query_ids, doc_ids, scores = zip(*QRELS, strict=True)
    pq.write_table(pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(scores, pa.int32())}), qrels_path)
    job, texts = Job(folder), {qrels_path.with_name(f"{name}.parquet"): f"of the {name}" for name in ("queries", "documents")}
    facts = {"seconds": SECONDS, "counts": {"self_matches_dropped": 7}, "system": "toy", "dataset": "tiny"}
    write_record(run_path.with_suffix(".json"), job, inputs=texts, outputs={run_path: file_digest(run_path)}, **facts)
    outputs = texts | {qrels_path: file_digest(qrels_path)}
    write_record(folder / CORPUS_PATH, job, inputs={}, outputs=outputs, counts=COUNTS, split="dev", official=None)
    return {"system": "toy", "dataset": "tiny", "cutoffs": [1, 10], "run": str(run_path), "qrels": str(qrels_path)}


def evaluate(folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a run; its means."""
    outputs = [str(folder / f"metrics/toy/tiny.{kind}") for kind in ("parquet", "json")]
    steps.run(evaluate_run, Job(folder, "evaluate_run/toy/tiny", "c0de"), outputs, **arguments)
    return read_json(outputs[1])


def evaluated(folder: Path, rows: list[Row] = RUN_ROWS) -> tuple[pd.DataFrame, dict[str, Any]]:
    means = evaluate(folder, prepare(folder, rows))
    return pq.read_table(folder / "metrics/toy/tiny.parquet").to_pandas().set_index("query_id"), means


def test_every_judged_query_has_a_row_and_means_are_over_all_of_them_in_full_precision(tmp_path: Path) -> None:
    table, means = evaluated(tmp_path)
    assert table["MRR@10"].to_dict() == {"q1": 1, "q2": 1 / 2, "q3": 0, "q4": 0}
    assert list(means["measures"]) == list(table.columns)
    assert {name.partition("@")[2] for name in table.columns} == {"1", "10"}
    assert means["measures"]["MRR@10"] == (1 + 1 / 2 + 0 + 0) / 4
    assert means["measures"]["P@1"] == (1 + 0 + 0 + 0) / 4
    assert means["measures"] == pytest.approx({name: sum(table[name]) / 4 for name in table.columns}, abs=1e-15)


def test_the_means_say_which_commit_of_a_dataset_was_assumed(tmp_path: Path) -> None:
    arguments = prepare(tmp_path, RUN_ROWS)
    corpus = read_json(tmp_path / CORPUS_PATH)
    facts = {key: corpus[key] for key in ("counts", "split", "official")}
    outputs = {tmp_path / path: digest for path, digest in corpus["outputs"].items()}
    noted = {"revision": "a/b at c, its newest commit", "judgements_without_score": "3, taken for 1"}
    write_record(tmp_path / CORPUS_PATH, Job(tmp_path), inputs={}, outputs=outputs, **facts, assumed=noted)
    assert evaluate(tmp_path, arguments)["assumed"] == ["a/b at c, its newest commit"]


def test_the_means_say_of_what_they_are_and_from_what(tmp_path: Path) -> None:
    _, means = evaluated(tmp_path)
    assert [means[key] for key in ("system", "dataset", "split", "official_data")] == ["toy", "tiny", "dev", None]
    assert means["counts"] == COUNTS | {
        "retrieved": 4,
        "retrieved_limit": 2,
        "queries_without_results": 2,
        "self_matches_dropped": 7,
    }
    assert means["seconds"].pop("evaluate") > 0
    assert means["seconds"] == SECONDS
    assert set(means["inputs"]) == {RUN_PATH, RUN_PATH.replace(".parquet", ".json"), QRELS_PATH, CORPUS_PATH}


@pytest.mark.parametrize(
    ("of_queries", "documents", "dropped", "expected"),
    [
        ([50] * 4, 1000, 0, 50),  # a reranker of the depth 50, or HNSW with ef_search 50
        ([50, 50, 0, 3], 1000, 0, 50),  # of a first stage that finds less
        ([60, 12, 0, 3], 1000, 0, None),  # a lexical system, whose queries match so many documents
        ([60, 60, 41, 3], 1000, 0, None),  # no more than half of the queries
        ([28] * 4, 28, 0, None),  # all documents
        ([28, 27, 27, 28], 28, 2, None),  # all but self matches
        ([27] * 4, 28, 4, None),
        ([27] * 4, 28, 0, None),  # a fusion of runs without self matches
        ([26] * 4, 28, 4, 26),
        ([0] * 4, 28, 0, None),  # no run that ends early, but one that found nothing
    ],
)
def test_a_run_that_a_limit_of_the_system_cuts_is_known(
    tmp_path: Path, of_queries: list[int], documents: int, dropped: int, expected: int | None
) -> None:
    rows = [(f"q{q}", f"d{i}", 1 / (i + 1), i + 1) for q, n in enumerate(of_queries, 1) for i in range(n)]
    rows += [("unjudged", f"d{i}", 1 / (i + 1), i + 1) for i in range(2 * max(of_queries))]
    _, means = evaluated(tmp_path, rows)
    counts = means["counts"] | {"documents": documents, "self_matches_dropped": dropped}
    assert most_documents(means | {"counts": counts}) == expected
    forums = [{**means, "counts": counts}] * 2
    summed = {"counts": totals(forums, "counts"), "forums": ["a", "b"]}
    assert most_documents(means | summed) == expected


def test_queries_without_results_are_0_and_those_without_judgements_change_nothing(tmp_path: Path) -> None:
    _, means = evaluated(tmp_path, [])
    assert set(means["measures"].values()) == {0.0}
    assert (means["counts"]["retrieved"], means["counts"]["queries_without_results"]) == (0, 4)
    _, expected = evaluated(tmp_path)
    _, means = evaluated(tmp_path, [*RUN_ROWS, ("stranger", "d1", 1.0, 1)])
    assert means["measures"] == expected["measures"]
    assert means["counts"]["queries_without_results"] == 2


def write_means(path: str, official: bool | None, **values: Any) -> None:
    """The means of a forum, in a folder of the name of its system."""
    facts = {"system": "toy", "dataset": Path(path).stem, "split": "test", "official_data": official}
    write_record(path, Job(Path(path).parents[1]), inputs={}, outputs={}, **facts, **values)


def test_forums_are_averaged_plainly_and_their_counts_are_added(tmp_path: Path) -> None:
    paths = []
    for forum, ndcg, queries, official in (("android", 0.2, 1, None), ("gis", 0.4, 10, True), ("tex", 0.9, 1000, True)):
        paths.append(str(tmp_path / f"toy/stack-{forum}.json"))
        facts = {"measures": {"NDCG@10": ndcg}, "counts": {"queries": queries}, "seconds": {"search": 2.0}}
        write_means(paths[-1], official, **facts, assumed=["of all", f"of {forum}"], precisions=[forum])
    job, output = Job(tmp_path, "average_forums/toy/stack", "c0de"), str(tmp_path / "toy/stack.json")
    steps.run(average_forums, job, [output], forums=paths, system="toy", dataset="stack")
    expected = {
        "system": "toy",
        "dataset": "stack",
        "split": "test",
        "official_data": None,
        "measures": {"NDCG@10": pytest.approx((0.2 + 0.4 + 0.9) / 3, abs=1e-15)},
        "counts": {"queries": 1011},
        "seconds": {"search": 6.0},
        "forums": ["stack-android", "stack-gis", "stack-tex"],
        "assumed": ["of all", "of android", "of gis", "of tex"],
        "precisions": ["android", "gis", "tex"],
    }
    record = read_json(tmp_path / "toy/stack.json")
    assert {key: record[key] for key in expected} == expected


def test_a_dataset_of_forums_is_official_when_all_of_them_are(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"toy/{number}.json") for number in range(2)]
    for official, together in (([True, True], True), ([True, None], None), ([None, False], False)):
        for path, value in zip(paths, official, strict=True):
            write_means(path, value, measures={}, counts={}, seconds={}, assumed=[], precisions=[])
        outputs = [str(tmp_path / "stack.json")]
        steps.run(average_forums, Job(tmp_path), outputs, forums=paths, system="toy", dataset="stack")
        assert read_json(tmp_path / "stack.json")["official_data"] is together
