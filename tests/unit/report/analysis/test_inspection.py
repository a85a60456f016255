"""Queries to look at."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beir_writer import write_corpus_record, write_documents
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data.query_lists import as_query
from beirflow.report.analysis.inspection import DEPTH, JUDGED, inspect_dataset, matched_words, read_first_hits
from call_with_fields import call
from results_writer import write_metrics, write_run

QUERIES = {"q0": "first?", "q1": "second?", "q2": str(as_query(["third", "or fourth?"]))}
JUDGEMENTS = [("q0", "d1", 1), ("q0", "d2", 2), ("q0", "gone", 2), ("q0", "d4", 0), ("q1", "d3", 1), ("q2", "d0", 0)]
RUNS = {
    "x": {"q0": ["d2", "d9", "d4"], "q1": [f"d{number}" for number in range(15)]},
    "y": {"q0": ["d1"], "q1": ["d3"], "q2": ["d0"]},
}
SCORES = {"x": [0.9, 0.2, 0.0], "y": [0.5, 1.0, 0.0]}


def inspect(folder: Path, *, judgements: list[tuple[str, str, int]] = JUDGEMENTS) -> dict[str, Any]:
    corpus = {name: folder / f"{name}.parquet" for name in ("documents", "queries", "qrels")}
    write_documents(corpus["documents"], [[f"text {number} " * (number + 1) for number in range(10)], ["last one"] * 10])
    pq.write_table(pa.table({"query_id": list(QUERIES), "text": list(QUERIES.values())}), corpus["queries"])
    query_ids, doc_ids, grades = zip(*judgements, strict=True)
    qrels = pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(grades, pa.int32())})
    pq.write_table(qrels, corpus["qrels"])
    write_corpus_record(folder, split="dev", counts={"documents": 20, "queries": 3})
    paths = []
    for system, ranked in RUNS.items():
        run = folder / f"runs/{system}.parquet"
        values = {"NDCG@10": SCORES[system]}
        paths.append(write_metrics(folder, system, "toy", values, inputs={run: write_run(run, ranked)}))
    means_paths, per_query_paths = zip(*paths, strict=True)
    per_system = {"run_paths": [str(folder / f"runs/{system}.parquet") for system in RUNS]}
    per_system |= {"means_paths": means_paths, "per_query_paths": per_query_paths}
    of_corpus = {f"{name}_path": str(corpus[name]) for name in ("documents", "queries")}
    job = Job(folder, "inspect_dataset/toy", "c0de")
    of_corpus |= {"dataset": "toy", "analyzers": ["lucene-english"]}
    call(inspect_dataset, **of_corpus, **per_system, output_path=str(folder / "toy.json"), job=job)
    return read_json(folder / "toy.json")


def test_the_file_says_of_what_it_is_and_from_what(tmp_path: Path) -> None:
    found = inspect(tmp_path)
    expected = {"dataset": "toy", "split": "dev", "documents": 20, "measure": "NDCG@10", "depth": DEPTH, "systems": ["x", "y"]}
    expected |= {"sample": {"shown": 3, "of": 3, "how": "all queries"}}
    expected |= {"path": "toy.json", "job": "inspect_dataset/toy", "code": "c0de"}
    assert {key: found[key] for key in expected} == expected
    names = ("documents", "queries", "qrels", "runs/x", "runs/y", "metrics/x/toy", "metrics/y/toy")
    assert found["inputs"] == {f"{name}.parquet": file_digest(tmp_path / f"{name}.parquet") for name in names}
    before = (tmp_path / "toy.json").read_bytes()
    inspect(tmp_path)
    assert (tmp_path / "toy.json").read_bytes() == before


def test_queries_come_worst_first_with_scores_judged_documents_and_hits(tmp_path: Path) -> None:
    worst, second, best = queries = inspect(tmp_path)["queries"]
    assert [query["id"] for query in queries] == ["q2", "q1", "q0"]
    assert [query["words"] for query in queries] == [[], [], []]
    assert [query["relevant"] for query in queries] == [0, 1, 3]
    assert (best["text"], best["values"], worst["text"]) == ("first?", {"x": 0.9, "y": 0.5}, "third; or fourth?")
    assert best["judged_total"] == 4
    assert best["judged"] == [
        {"doc_id": "d2", "grade": 2, "ranks": {"x": 1, "y": None}},
        {"doc_id": "gone", "grade": 2, "ranks": {"x": None, "y": None}},
        {"doc_id": "d1", "grade": 1, "ranks": {"x": None, "y": 1}},
        {"doc_id": "d4", "grade": 0, "ranks": {"x": 3, "y": None}},
    ]
    assert best["hits"]["x"] == [
        {"doc_id": "d2", "score": 1.0, "grade": 2},
        {"doc_id": "d9", "score": 0.5, "grade": None},
        {"doc_id": "d4", "score": 0.33333334, "grade": 0},
    ]
    assert (len(second["hits"]["x"]), worst["hits"]["x"]) == (DEPTH, [])


def test_named_documents_have_texts_and_lengths_count_each_judgement_and_each_of_the_first_hits(tmp_path: Path) -> None:
    found = inspect(tmp_path)
    assert found["texts"]["d1"] == {"title": "", "text": "text 1 text 1"}
    assert set(found["texts"]) == {f"d{number}" for number in range(10)}
    lengths = found["lengths"]
    assert (lengths["unit"], lengths["all"]["n"]) == ("words", 20)
    assert (lengths["relevant"]["n"], lengths["relevant"]["mean"]) == (3, (4 + 6 + 8) / 3)
    assert lengths["retrieved"]["x"]["n"] == 3 + DEPTH
    assert (lengths["retrieved"]["y"]["n"], lengths["retrieved"]["y"]["mean"]) == (3, (4 + 8 + 2) / 3)


def test_of_many_judged_documents_the_best_are_shown(tmp_path: Path) -> None:
    judgements = sorted([("q0", f"d{number:03}", int(number >= 70)) for number in range(100)])
    query = next(query for query in inspect(tmp_path, judgements=judgements)["queries"] if query["id"] == "q0")
    assert (query["judged_total"], query["relevant"], len(query["judged"])) == (100, 30, JUDGED)
    assert {document["grade"] for document in query["judged"]} == {1}


RANKED = {"q1": ["d3", "d1", "d2"], "q2": ["d1"], "q3": [f"d{number}" for number in range(30)]}


def test_first_ranks_are_of_all_queries_and_all_ranks_of_a_sample(tmp_path: Path) -> None:
    digest = write_run(tmp_path / "run.parquet", RANKED)
    doc_ids, ranked = read_first_hits(str(tmp_path / "run.parquet"), digest, "means.json", 2, ["q3", "q9", "q2"])
    assert doc_ids.to_pylist() == ["d3", "d1", "d1", "d0", "d1"]
    assert list(ranked["q3"]) == RANKED["q3"]
    assert ranked["q2"] == {"d1": (1, 1.0)}
    assert ranked["q3"]["d3"] == (4, 0.25)
    assert ranked["q9"] == {}
    assert "q1" not in ranked


def test_a_run_that_was_changed_after_it_was_evaluated_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run.parquet", RANKED)
    with pytest.raises(DataError, match=r"means\.json says abc") as caught:
        read_first_hits(str(tmp_path / "run.parquet"), "abc", "means.json", 2, [])
    assert str(caught.value).endswith(f"rm {tmp_path}/run.parquet")


def test_words_with_the_stem_of_one_of_the_query_are_found() -> None:
    texts = ["Running in the MORNING", "she runs; a runner's mornings, covid-19", "no match of theirs"]
    assert matched_words("Does he run in the morning?", texts) == ["morning", "mornings", "running", "runs"]
    assert matched_words("COVID-19's", texts) == ["19", "covid", "s"]  # as Lucene cuts 19's
    assert matched_words("to be or not to be", ["to be or not to be"]) == []
    assert matched_words("anything", []) == []


@pytest.mark.parametrize(
    ("language", "query", "text", "words"),
    [
        ("finnish", "talossa", "Talot ja talon ovi", ["talon", "talot"]),
        (
            "hindi",
            "\u0915\u093f\u0924\u093e\u092c",
            "\u0915\u093f\u0924\u093e\u092c\u0947\u0902",
            ["\u0915\u093f\u0924\u093e\u092c\u0947\u0902"],
        ),
        ("swahili", "Nairobi mji", "Nairobi Mji", ["nairobi"]),
    ],
)
def test_words_are_found_as_the_analyzer_of_another_language_reads_them(
    language: str, query: str, text: str, words: list[str]
) -> None:
    assert matched_words(query, [text], [f"lucene-{language}"]) == words
    assert matched_words(query, [text]) != words
    assert matched_words(query, [text], ["lucene-english", f"lucene-{language}"]) == sorted(
        {*words, *matched_words(query, [text])}
    )
