"""A run of elsewhere becomes a run of these results, or is refused."""

import gzip
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.families.imported.import_run import import_run
from beirflow.ranking.run_file import NewRun, write_trec
from refusals import refused
from run_results import DATASET, RunResults, ids

TREC = """q0 Q0 d1 1 2.5 them
q0 Q0 d3 2 1.5 them
q0 Q0 d4 3 1.5 them
d2 Q0 d2 1 9 them
d2 Q0 d0 2 8 them
elsewhere Q0 nothing 1 8 them
"""
EXPECTED = [("d2", "d0", 8.0, 1), ("q0", "d1", 2.5, 1), ("q0", "d4", 1.5, 2), ("q0", "d3", 1.5, 3)]


@pytest.fixture
def made(tmp_path: Path) -> RunResults:
    return RunResults(tmp_path / "results", dict.fromkeys(ids(12), "text"), {"q0": "?", "d2": "?", "q9": "?"})


def read(made: RunResults, content: str | bytes = TREC, **settings: Any) -> Path:
    """Read a run; the file that it is in."""
    source = made.results.parent / "theirs-small.trec"
    source.write_bytes(content.encode() if isinstance(content, str) else content)
    how = {"top_k": 10, "drop_self_matches": True} | settings
    steps.run(
        import_run,
        Job(made.results, "import_run/theirs/small", "c0de"),
        [*made.paths("theirs").values()],
        queries=made.corpus_paths["queries_path"],
        documents=made.corpus_paths["documents_path"],
        source_path=str(source),
        run=NewRun("theirs", DATASET, how["top_k"], {}),
        drop_self_matches=how["drop_self_matches"],
    )
    return source


def test_a_run_is_ranked_by_the_rule_without_self_matches_and_queries_that_nobody_judged(made: RunResults) -> None:
    source = read(made)
    assert made.run("theirs") == EXPECTED
    record = read_json(made.paths("theirs")["record_path"])
    assert record["source_sha256"] == file_digest(source)
    assert record["counts"] == {"self_matches_dropped": 1, "rows_without_judged_query": 1, "queries_ranked_otherwise": 0}
    assert set(record["inputs"]) == {"corpora/small/documents.parquet", "corpora/small/queries.parquet"}
    assert (record["system"], record["dataset"], record["seconds"]) == ("theirs", "small", {})
    read(made, "".join(sorted(TREC.splitlines(keepends=True))))
    assert made.run("theirs") == EXPECTED


def test_ranks_that_contradict_the_scores_are_counted_and_said(made: RunResults, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read(made, "q0 Q0 d1 1 1.5 t\nq0 Q0 d3 2 2.5 t\nd2 Q0 d4 1 3 t\nd2 Q0 d5 2 3 t\n")
    assert "the ranks of 1 queries contradict their scores" in caplog.text
    assert read_json(made.paths("theirs")["record_path"])["counts"]["queries_ranked_otherwise"] == 1
    assert [row[1] for row in made.run("theirs") if row[0] == "q0"] == ["d3", "d1"]


@pytest.mark.parametrize("form", ["trec", "parquet"])
def test_ties_that_only_float32_makes_are_counted(made: RunResults, caplog: pytest.LogCaptureFixture, form: str) -> None:
    # A run of doubles: of trec_eval 10, d3 is before d4; float32 cannot tell them apart, nor d1 and d2 of another query.
    scores = {
        "q0": {"d3": 20.1234567890123, "d4": 20.1234567890122, "d5": 1.5},
        "d2": {"d1": 0.1, "d3": 0.1, "d0": 3 + 1e-9, "d9": 3},
    }
    rows = [(query_id, doc_id, score) for query_id, of_query in scores.items() for doc_id, score in of_query.items()]
    content: bytes = "".join(f"{query_id} Q0 {doc_id} 0 {score!r} t\n" for query_id, doc_id, score in rows).encode()
    if form == "parquet":
        path = made.results.parent / "doubles.parquet"
        pq.write_table(pa.table(dict(zip(("query_id", "doc_id", "score"), zip(*rows, strict=True), strict=True))), path)
        content = path.read_bytes()
    read(made, content)
    (warning,) = [record.getMessage() for record in caplog.records if "equal as float32" in record.getMessage()]
    assert ": 2 scores that differ in the file are equal as float32" in warning
    assert [row[1] for row in made.run("theirs") if row[0] == "q0"] == ["d4", "d3", "d5"]
    caplog.clear()
    read(made)
    read(made, "q0 Q0 d1 1 0.1 t\nq0 Q0 d3 2 0.1 t\nq0 Q0 d4 3 0.2 t\n")
    assert "equal as float32" not in caplog.text


def test_a_run_of_ours_in_trec_form_comes_back_as_the_same_bytes(made: RunResults) -> None:
    random = np.random.default_rng(0)
    scores = {q: {d: float(np.float32(random.integers(0, 5) / 7)) for d in ids(12) if d != q} for q in ("q0", "d2")}
    path = Path(made.write_run("ours", scores))
    trec = made.results / "ours.trec.gz"
    write_trec(**made.paths("ours"), queries_path=made.queries_path, output_path=str(trec), tag="ours")
    for content in (trec.read_bytes(), gzip.decompress(trec.read_bytes()), path.read_bytes()):
        read(made, content, top_k=20)
        assert made.run("theirs") == made.run("ours")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            TREC + "q0 Q0 d99 4 1 t\nq0 Q0 d98 5 1 t\n",
            ":7: the corpus of small has no document 'd99', nor those of 1 other rows; does the run belong to another dataset,",
        ),
        (TREC + "\nq0 Q0 d1 4 1 t\n", ":8: found the document 'd1' again for the query 'q0', as in line 1"),
        ("other Q0 d1 1 1 t\n", ": none of its 1 rows is of a query with judgements, such as 'd2'"),
        ("", ": the run is empty, it has no row"),
        ("# tag: x\n\n", ": the run is empty, it has no row"),
        (TREC + "q0 Q0 d1\n", ":7: expected a line of a TREC run"),
    ],
    ids=["no document", "twice", "no query", "empty", "comments", "no line"],
)
def test_a_run_that_cannot_be_of_this_corpus_is_refused_and_nothing_is_written(made: RunResults, content: str, says: str) -> None:
    with refused(DataError, f"{made.results.parent / 'theirs-small.trec'}{says}"):
        read(made, content)
    assert not Path(made.paths("theirs")["run_path"]).exists()


def test_the_cut_comes_after_the_self_match_was_dropped(made: RunResults) -> None:
    read(made, top_k=1)
    assert made.run("theirs") == [("d2", "d0", 8.0, 1), ("q0", "d1", 2.5, 1)]
    read(made, top_k=1, drop_self_matches=False)
    assert made.run("theirs")[0] == ("d2", "d2", 9.0, 1)
