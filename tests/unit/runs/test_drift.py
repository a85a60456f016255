"""What moved in one direction is told from what moved by chance."""

import numpy as np
import pytest
from beirflow.runs.drift import LEAST_PAIRS, drift_of, drift_of_scores

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
