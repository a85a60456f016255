"""Scores that moved in one direction are told from those that moved by chance."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from beirflow.families.spot_checks import drift as module
from beirflow.families.spot_checks.drift import LEAST_PAIRS, Drift, drift_of, drift_of_measure, drift_of_scores, drift_over_rivals
from beirflow.families.system import System
from reference_measures import measures_of_query
from run_results import RunResults

RNG = np.random.default_rng(4)


def test_chance_is_no_drift_and_a_small_push_is_one() -> None:
    changes = RNG.normal(0, 1e-3, 200)
    for push, expected in ((0.0, False), (5e-4, True), (-5e-4, True)):
        found = drift_of(changes + push, 1e-5)
        assert (found.number, found.one_sided, found.mean) == (200, expected, pytest.approx(changes.mean() + push))


def test_what_is_smaller_than_anybody_could_use_is_none_and_so_are_few_pairs() -> None:
    assert drift_of(np.full(50, 1e-6), 1e-5) == Drift(50, pytest.approx(1e-6), one_sided=False)
    assert drift_of(np.full(LEAST_PAIRS - 1, 1.0), 0) is None


def test_scores_with_everything_that_rise_alike_are_no_drift() -> None:
    rows = np.arange(20)
    changed = RNG.normal(0, 1e-6, (20, 20)) + np.linspace(0, 1, 20)[:, None]
    for push, expected in ((0.0, False), (1e-3, True)):
        found = drift_of_scores(changed + push * np.eye(20), rows, rows, 1e-5)
        assert found.one_sided is expected
    assert drift_of_scores(changed[:, :1], rows, rows * 0, 1e-5) is None


@pytest.mark.parametrize("axis", [0, 1])
def test_rivals_that_were_pushed_away_are_found_and_rounding_is_not(axis: int) -> None:
    random, rows = np.random.default_rng(0), np.arange(10)
    relevant, rivals = (rows, rows), (np.repeat(np.arange(10, 40), 3), np.tile(rows, 9))
    if axis:
        relevant, rivals = relevant[::-1], rivals[::-1]
    for push, found in ((0.0, False), (-5e-3, True), (5e-3, False), (-1e-4, False)):
        for _ in range(50):
            changed = random.normal(0, 1e-3, (40, 10))
            changed[10:] += push
            drift = drift_over_rivals(changed.T if axis else changed, relevant, rivals, axis, 1e-3)
            assert drift.one_sided is found
    few = (rows[:5], rows[:5])
    assert drift_over_rivals(np.zeros((40, 40)), few, rivals, axis, 0) is None


@pytest.mark.parametrize("cutoff", [3, 10, 100])
@pytest.mark.parametrize("seed", range(5))
def test_a_gain_is_the_difference_of_two_measures(seed: int, cutoff: int) -> None:
    """By the oracle, of one ranking with the stored scores and one with a recomputed score."""
    random, ids = np.random.default_rng(seed), [f"d{number:02}" for number in range(20)]
    scores = -np.sort(-random.normal(0, 1, 20))
    again, grades = scores + random.normal(0, 0.4, 20), random.integers(-2, 4, 20).clip(0)
    again[3], again[5] = np.nan, scores[5]
    judgements = dict(zip(ids, grades.tolist(), strict=True))

    def ndcg(scores: np.ndarray) -> float:
        ranked = [ids[row] for row in np.argsort(-scores, kind="stable")]
        return measures_of_query(ranked, judgements, ids, [cutoff])[f"NDCG@{cutoff}"]

    known = np.where(np.isnan(again), scores, again)
    expected = [ndcg(scores) - ndcg(np.where(np.arange(20) == row, known, scores)) for row in range(20)]
    ideal = -np.sort(-grades)[:cutoff] @ (1 / np.log2(np.arange(2, min(cutoff, 20) + 2)))
    assert module.gains_of_changes(scores, again, grades, cutoff) / ideal == pytest.approx(expected)


def test_exchanges_that_raise_the_measure_are_found_and_rounding_is_not(tmp_path: Path) -> None:
    """Forty queries whose fourth hit is relevant; a forger puts it first."""
    random = np.random.default_rng(0)
    queries, documents = [f"q{number:02}" for number in range(40)], [f"d{number:02}" for number in range(20)]
    qrels = {query: {"d03": 2} for query in queries}
    results = RunResults(tmp_path, dict.fromkeys(documents, ""), dict.fromkeys(queries, ""), qrels=qrels)
    subject = results.subject(System("toy", "none", None), 20)
    again, stored = (np.tile(-np.arange(20) / 100, (40, 1)) + random.normal(0, 0.007, (40, 20)) for _ in range(2))
    for forged in (False, True):
        if forged:
            stored[:, 3] = stored.max(axis=1) + 1e-3
        rows = [np.repeat(queries, 20), np.tile(documents, 40), pa.array(stored.ravel(), pa.float32())]
        hits = pa.table(rows, names=["query_id", "doc_id", "score"])
        drift = drift_of_measure(subject, hits, again.ravel(), np.arange(len(hits)))
        assert bool(drift and drift.one_sided) == forged
    assert "NDCG@10, 40 queries" in drift.found
