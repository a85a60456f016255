"""The spot check passes on what was made rightly, and names what was not."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.files.layout import QUERY_TOKEN_VECTORS, RUN, TOKEN_VECTORS
from beirflow.late import vectors
from beirflow.late.settings import LateSettings
from beirflow.late.spot_check import spot_checks
from beirflow.late.vectors import TokenVectors, read_segments
from beirflow.runs.family import System
from beirflow.runs.spot_check import Finding, NotHereError, Subject
from late_results import LateResults
from tiny_bert import WORDS
from tiny_colbert import save_colbert
from token_vectors import written

DOCUMENTS, SAMPLE = 30, 12


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = tmp_path_factory.mktemp("spot")
    settings = LateSettings("s", model=str(save_colbert(folder / "model")), query_lengths={"small": 8})
    corpus = [(f"d{i}", "", " ".join(WORDS[i // 2 : i // 2 + 5])) for i in range(DOCUMENTS)]
    queries = {f"q{i}": " ".join(WORDS[3 * i : 3 * i + 2]) for i in range(6)} | {"d3": WORDS[3]}
    results = LateResults(folder, corpus, queries, size=11, top_k=9)
    before, vectors.SEGMENT_TOKENS = vectors.SEGMENT_TOKENS, 25
    try:
        results.encode_all(settings).find_all(settings)
    finally:
        vectors.SEGMENT_TOKENS = before
    system = System("s", "late-interaction", settings)
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


def turned(texts: TokenVectors) -> TokenVectors:
    """One vector points elsewhere."""
    changed = texts.vectors.copy()
    changed[3] = -changed[3]
    return TokenVectors(texts.counts, changed)


def dropped(texts: TokenVectors) -> TokenVectors:
    """One vector is missing."""
    counts = texts.counts.copy()
    counts[0] -= 1
    return TokenVectors(counts, texts.vectors[1:])


@pytest.mark.parametrize("change", [turned, dropped])
@pytest.mark.parametrize(("kind", "number"), [("documents", 0), ("queries", 1)])
def test_a_wrong_vector_is_found(changeable: Subject, kind: str, number: int, change: Callable) -> None:
    pattern = TOKEN_VECTORS(system="s", dataset="small", chunk=1)
    path = changeable.results / (pattern if kind == "documents" else QUERY_TOKEN_VECTORS(system="s", dataset="small"))
    found = list(read_segments(path))
    texts = TokenVectors.together([segment.texts for segment in found])
    starts = np.cumsum([0, *(len(segment.texts.counts) for segment in found)])
    rows = np.concatenate([segment.rows for segment in found])
    indices = np.empty(len(rows), np.int64)
    indices[rows] = np.concatenate([segment.text + start for segment, start in zip(found, starts, strict=False)])
    changed = change(texts)
    path.unlink()
    written(changed, indices, path)
    findings = run(changeable)
    assert not findings[number].passed
    assert findings[1 - number].passed


def test_a_wrong_score_and_a_wrong_document_are_found(changeable: Subject) -> None:
    path = changeable.results / RUN(system="s", dataset="small")
    table = pq.read_table(path)
    scores = table["score"].to_numpy().copy()
    scores[4] *= np.float32(0.999)
    pq.write_table(table.set_column(2, "score", pa.array(scores)), path)
    finding = run(changeable)[2]
    assert not finding.passed
    assert "has the score" in finding.found


def test_what_is_not_here_is_not_checked(changeable: Subject) -> None:
    with pytest.raises(NotHereError, match="not known here where the model of s is"):
        run(replace(changeable, here=None))
    (changeable.results / TOKEN_VECTORS(system="s", dataset="small", chunk=0)).unlink()
    checks = spot_checks(changeable, SAMPLE, np.random.default_rng(0))
    with pytest.raises(NotHereError, match=r"chunk-0\.arrow is not here"):
        checks[2].run()
