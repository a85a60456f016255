"""The spot check passes on what was made rightly, and names what was not."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.files.layout import QUERY_WEIGHTS, RUN, TERM_WEIGHTS
from beirflow.files.writing import DigestingWriter
from beirflow.runs.family import System
from beirflow.runs.spot_check import Finding, NotHereError, Subject
from beirflow.sparse import files
from beirflow.sparse.files import SegmentWriter, read_queries, write_queries
from beirflow.sparse.rows import Rows
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.spot_check import spot_checks
from sparse_results import SparseResults
from tiny_bert import WORDS
from tiny_sparse import save_masked_lm

DOCUMENTS, SAMPLE = 30, 12


@pytest.fixture(scope="module", params=["none", "lucene"])
def made(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Subject:
    folder = tmp_path_factory.mktemp("spot")
    settings = SparseSettings("s", model=str(save_masked_lm(folder / "model")), quantize=request.param, most_terms=20)
    corpus = [(f"d{i}", "", " ".join(WORDS[i : i + 5])) for i in range(DOCUMENTS)]
    queries = {f"q{i}": " ".join(WORDS[3 * i : 3 * i + 2]) for i in range(6)} | {"d3": WORDS[3]}
    results = SparseResults(folder, corpus, queries, size=11, top_k=9)
    before, files.SEGMENT_POSTINGS = files.SEGMENT_POSTINGS, 100
    try:
        results.weigh_all(settings).find_all(settings)
    finally:
        files.SEGMENT_POSTINGS = before
    system = System("s", "sparse", settings)
    return Subject(
        results=results.results,
        system=system,
        here=system,
        dataset="small",
        made={"precision": "float32"},
        top_k=9,
        drop_self_matches=True,
        chunks=results.chunks,
        config={"device": "cpu", "token_budget": "auto", "jobs_per_gpu": 1},
    )


@pytest.fixture
def changeable(made: Subject, tmp_path: Path) -> Subject:
    shutil.copytree(made.results, tmp_path / "results")
    return replace(made, results=tmp_path / "results")


def run(subject: Subject) -> list[Finding]:
    return [check.run() for check in spot_checks(subject, SAMPLE * 9, np.random.default_rng(0))]


def test_what_was_made_rightly_passes(made: Subject) -> None:
    found = run(made)
    assert [finding.passed for finding in found] == [True] * 3, found
    assert "30 documents" in found[0].found
    few = [check.run() for check in spot_checks(made, 4, np.random.default_rng(1))]
    assert [finding.passed for finding in few] == [True] * 3


def change_weights(subject: Subject, change: Callable[[np.ndarray], np.ndarray], kind: str) -> None:
    """Write the weights of the queries, or of the second chunk, again with a change of the first one."""
    settings = subject.system.settings
    if kind == "queries":
        path = subject.results / QUERY_WEIGHTS(system="s", dataset="small")
        rows = read_queries(path, settings.quantize)
        with DigestingWriter(path) as stream:
            write_queries(stream, rows._replace(weights=change(rows.weights.copy())), settings.quantize)
        return
    path = subject.results / TERM_WEIGHTS(system="s", dataset="small", chunk=1)
    parts = []
    for segment in files.read_segments(path, settings.quantize):
        terms = np.repeat(segment.terms, np.diff(segment.starts)).astype(np.int64)
        parts.append(Rows.of(segment.documents, segment.rows.astype(np.int64), terms, segment.weights.astype(np.float32)))
    rows = Rows.together(parts)
    with DigestingWriter(path) as stream, SegmentWriter(stream, settings.quantize) as writer:
        writer.add(rows._replace(weights=change(rows.weights.copy())))


def doubled(weights: np.ndarray) -> np.ndarray:
    weights[weights.argmax()] *= 2
    return weights


@pytest.mark.parametrize(("kind", "number"), [("documents", 0), ("queries", 1)])
def test_a_wrong_weight_is_found(changeable: Subject, kind: str, number: int) -> None:
    change_weights(changeable, doubled, kind)
    found = run(changeable)
    assert not found[number].passed
    assert found[1 - number].passed


def test_a_wrong_score_is_found(changeable: Subject) -> None:
    path = changeable.results / RUN(system="s", dataset="small")
    table = pq.read_table(path)
    scores = table["score"].to_numpy().copy()
    scores[4] = np.nextafter(scores[4], np.float32(0))
    pq.write_table(table.set_column(2, "score", pa.array(scores)), path)
    finding = run(changeable)[2]
    assert not finding.passed
    assert "has the score" in finding.found


def test_what_is_not_here_is_not_checked(changeable: Subject) -> None:
    with pytest.raises(NotHereError, match="not known here where the model of s is"):
        run(replace(changeable, here=None))
    (changeable.results / TERM_WEIGHTS(system="s", dataset="small", chunk=0)).unlink()
    checks = spot_checks(changeable, SAMPLE, np.random.default_rng(0))
    with pytest.raises(NotHereError, match=r"weights-0\.arrow is not here"):
        checks[2].run()
