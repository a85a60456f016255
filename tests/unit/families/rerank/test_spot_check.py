"""Competitors that were pushed away by less than the tolerance, beside rounding that knows nothing of relevance."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from beirflow.families.rerank import spot_check
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.rerank.spot_check import TOLERANCE, PairScoreCheck
from beirflow.families.spot_checks.spot_check import Finding
from beirflow.families.system import System
from run_results import RunResults

NUMBER, DEPTH = 60, 50
QUERIES = {f"q{number:02}": "question" for number in range(NUMBER)}
DOCUMENTS = {f"d{number:02}": "text" for number in range(DEPTH)}
ROUNDING = {"float32": 1e-6, "bfloat16": 3e-2}


def scores_again(random: np.random.Generator, precision: str) -> np.ndarray:
    """Scores of every query and document, as near as a tolerance can exchange; the relevant one, d00, is fourth or fifth."""
    scores = -np.sort(-random.normal(0, 6 * TOLERANCE[precision], (NUMBER, DEPTH)), axis=1)
    place = random.integers(3, 5, NUMBER)
    return np.array([[row[at], *np.delete(row, at)] for row, at in zip(scores, place, strict=True)])


def found(
    folder: Path, patch: pytest.MonkeyPatch, precision: str, stored: np.ndarray, again: np.ndarray, sample: int = 1000
) -> Finding:
    results = RunResults(folder, DOCUMENTS, QUERIES, qrels={query: {"d00": 1} for query in QUERIES})
    settings = RerankSettings("crossed", first="bm25", model="none")
    subject = results.subject(System("crossed", "rerank", settings), 10, precision=precision)
    ids = [(query, doc_id) for query in QUERIES for doc_id in DOCUMENTS]
    query_ids, doc_ids = zip(*ids, strict=True)
    table = pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(stored.ravel().astype(np.float32))})
    right = dict(zip(ids, again.ravel(), strict=True))

    def scores(pairs: pa.Table, _: str) -> np.ndarray:
        return np.array([right[pair["query_id"], pair["doc_id"]] for pair in pairs.to_pylist()])

    patch.setattr(spot_check, "stored_pairs", lambda _: table)
    check = PairScoreCheck(subject, sample, np.random.default_rng(3))
    patch.setattr(check, "_scores", scores)
    return check.check()


def test_a_first_stage_that_found_nothing_leaves_no_pair_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BM25 finds nothing if no query has a term of the corpus."""
    results = RunResults(tmp_path, DOCUMENTS, QUERIES, qrels={query: {"d00": 1} for query in QUERIES})
    settings = RerankSettings("crossed", first="bm25", model="none")
    subject = results.subject(System("crossed", "rerank", settings), 10, precision="float32")
    table = pa.table(
        {"query_id": pa.array([], pa.string()), "doc_id": pa.array([], pa.string()), "score": pa.array([], pa.float32())}
    )
    monkeypatch.setattr(spot_check, "stored_pairs", lambda _: table)
    check = PairScoreCheck(subject, 100, np.random.default_rng(3))
    monkeypatch.setattr(check, "_scores", lambda pairs, _: np.zeros(len(pairs)))
    finding = check.check()
    assert finding.passed, finding
    assert finding.found == "crossed on small: 0 pairs"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    again = scores_again(random, precision)
    again, stored = (again + random.normal(0, ROUNDING[precision], again.shape) for _ in range(2))
    finding = found(tmp_path, monkeypatch, precision, stored, again)
    assert finding.passed, finding


@pytest.mark.parametrize("sample", [100, 1000])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_competitors_pushed_away_fail_though_the_others_balance_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, sample: int
) -> None:
    random = np.random.default_rng(0)
    again = scores_again(random, precision)
    stored = again + random.normal(0, ROUNDING[precision], again.shape)
    ahead = np.zeros(again.shape, bool)
    most = 0.5 * TOLERANCE[precision] * np.maximum(np.abs(again), 1)
    ahead[:, 1:] = np.abs(again[:, 1:] - again[:, :1]) < 2 * most[:, :1]
    stored -= np.where(ahead, most, 0)
    behind = ~ahead
    behind[:, 0] = False
    stored[behind] += most[ahead].sum() / behind.sum()  # the mean of all that are not relevant stays
    finding = found(tmp_path, monkeypatch, precision, stored, again, sample)
    assert not finding.passed
    assert "relevant pairs" in finding.found


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_rivals_exchanged_with_relevant_documents_fail_though_no_mean_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    """The nearest rival goes below the relevant document, and the next rises as far: neither drift sees it."""
    random, allowed = np.random.default_rng(0), 0.9 * TOLERANCE[precision]
    again = scores_again(random, precision) / 3
    stored = again + random.normal(0, ROUNDING[precision] / 10, again.shape)
    for row in stored:
        ahead = [place for place in np.argsort(row) if row[place] > row[0]][:2]
        step = 1.2 * (row[ahead[0]] - row[0])
        if step < allowed and row[ahead[1]] + step - row[0] < allowed:
            row[ahead] += [-step, step]
    finding = found(tmp_path, monkeypatch, precision, stored, again)
    assert not finding.passed
    assert "NDCG@10" in finding.found
