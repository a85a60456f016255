"""Ranks over datasets, against what Demšar prints (JMLR 7, 2006)."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from beirflow.evaluation.ranks import FEWEST_DATASETS, Friedman, alike, average_ranks, critical_difference, friedman

RANKS = [1.964, 2.000, 2.893, 3.143]
"""His example: average ranks of four learners on fourteen datasets."""


def scores(systems: int, datasets: int) -> np.ndarray:
    """With ties."""
    return np.random.default_rng(systems).random((systems, datasets)).round(1)


def test_the_best_has_rank_1_and_equal_ones_share_theirs() -> None:
    ranks = [[1.0, 3.5], [2.5, 3.5], [2.5, 1.0], [4.0, 2.0]]
    found = average_ranks(np.array([[0.9, 0.1], [0.5, 0.1], [0.5, 0.8], [0.2, 0.3]]))
    assert found.tolist() == [sum(each) / 2 for each in ranks]


def test_the_test_is_his_formula_corrected_for_ties() -> None:
    def plain(ranks: Sequence[float], datasets: int) -> float:
        k = len(ranks)
        return 12 * datasets / (k * (k + 1)) * (sum(rank**2 for rank in ranks) - k * (k + 1) ** 2 / 4)

    def by_iman_and_davenport(chi_square: float) -> float:
        return 13 * chi_square / (14 * 3 - chi_square)

    assert by_iman_and_davenport(plain(RANKS, 14)) == pytest.approx(3.69, abs=0.01)
    values = scores(4, 14)
    counts = [np.unique(column, return_counts=True)[1] for column in values.T]
    ties = sum(float(np.sum(count**3 - count)) for count in counts)
    assert ties > 0
    found = friedman(values)
    chi_square = plain(average_ranks(values).tolist(), 14) / (1 - ties / (14 * 4 * 15))
    assert found.f == pytest.approx(by_iman_and_davenport(chi_square))
    assert found.p == pytest.approx(stats.f.sf(found.f, 3, 39))


def test_it_rejects_at_the_level_and_his_example_tells_no_two_apart() -> None:
    assert [Friedman(1.0, p, 1.0).rejected for p in (0.049, 0.05)] == [True, False]
    found = critical_difference(4, 14)
    assert found == pytest.approx(1.25, abs=0.01)
    assert alike(RANKS, Friedman(3.69, 0.02, found)) == [(0, 3)]


@pytest.mark.parametrize(("systems", "quantile"), [(2, 1.960), (3, 2.343), (6, 2.850), (10, 3.164)])
def test_the_critical_difference_has_the_quantiles_of_his_table_5(systems: int, quantile: float) -> None:
    expected = quantile * np.sqrt(systems * (systems + 1) / (6 * 14))
    assert critical_difference(systems, 14) == pytest.approx(expected, abs=1e-3)


def test_groups_are_the_largest_of_which_no_two_differ_by_the_critical_difference() -> None:
    rejected = Friedman(9.0, 0.01, 1.0)
    assert alike([1.0, 1.5, 2.0, 2.4, 4.0], rejected) == [(0, 1), (1, 3)]
    assert alike([1.0, 2.0, 3.0], rejected) == []
    assert alike([1.0, 1.1, 1.2], rejected) == [(0, 2)]
    assert alike([1.0, 3.0, 5.0], Friedman(1.0, 0.3, 1.0)) == [(0, 2)]


def test_too_few_and_equal_systems_are_not_tested() -> None:
    assert friedman(np.random.default_rng(0).random((2, 10))) is None
    assert friedman(np.random.default_rng(0).random((5, 4))) is None
    assert friedman(np.full((3, 5), 0.5)) is None


def test_one_order_on_every_dataset_has_its_exact_probability() -> None:
    for column, orders in (([0.3, 0.2, 0.1], 6), ([0.3, 0.2, 0.2], 3)):
        found = friedman(np.array([column] * 5).T)
        assert (found.f, found.p) == (np.inf, pytest.approx(orders**-4))


@pytest.mark.parametrize("systems", [3, 8])
def test_equal_systems_are_rejected_about_as_often_as_the_level_says_from_the_fewest_datasets_on(systems: int) -> None:
    draws = np.random.default_rng(7).random((200, systems, FEWEST_DATASETS))
    tests = [friedman(draw) for draw in draws]
    assert 0.02 < np.mean([test is not None and test.rejected for test in tests]) < 0.08
