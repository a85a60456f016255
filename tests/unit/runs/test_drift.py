"""What moved in one direction is told from what moved by chance."""

import numpy as np
import pytest
from beirflow.runs.drift import LEAST_PAIRS, drift_of, drift_of_scores, drift_over_rivals

RNG = np.random.default_rng(4)


def test_chance_is_no_drift_and_a_small_push_is_one() -> None:
    changes = RNG.normal(0, 1e-3, 200)
    for push, expected in ((0.0, False), (5e-4, True), (-5e-4, True)):
        found = drift_of(changes + push, 1e-5)
        assert found is not None
        assert (found.pairs, found.one_sided, found.mean) == (200, expected, pytest.approx(changes.mean() + push))


def test_what_is_smaller_than_anybody_could_use_is_none_and_so_are_few_pairs() -> None:
    assert [drift_of(np.full(50, 1e-6), least) for least in (1e-5,)] == [(50, pytest.approx(1e-6), False)]
    assert drift_of(np.full(LEAST_PAIRS - 1, 1.0), 0) is None


def test_scores_with_everything_that_rise_alike_are_no_drift() -> None:
    rows = np.arange(20)
    changed = RNG.normal(0, 1e-6, (20, 20)) + np.linspace(0, 1, 20)[:, None]
    for push, expected in ((0.0, False), (1e-3, True)):
        found = drift_of_scores(changed + push * np.eye(20), rows, rows, 1e-5)
        assert found is not None
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
            assert drift is not None
            assert drift.one_sided is found
    few = (rows[:5], rows[:5])
    assert drift_over_rivals(np.zeros((40, 40)), few, rivals, axis, 0) is None
