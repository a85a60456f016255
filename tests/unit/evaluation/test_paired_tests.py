"""Paired tests against enumeration, against scipy, and against their formulas."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from beirflow.evaluation.paired_tests import (
    DRAWN,
    EXACT,
    confidence_interval,
    detectable_difference,
    effect_size,
    equivalence,
    holm,
    paired_t_test,
    randomisation_test,
)


def differences(queries: int, pairs: int = 1, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.1, 0.3, (queries, pairs)) / queries


@pytest.mark.parametrize("queries", [2, 7, EXACT])
def test_a_few_differences_give_what_scipy_gives(queries: int) -> None:
    values = differences(queries, seed=queries)
    zeros = np.zeros(queries)
    exact = stats.permutation_test(
        (values[:, 0], zeros),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        vectorized=True,
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert randomisation_test(values)[0] == pytest.approx(exact.pvalue, abs=1e-12)


def test_differences_of_0_change_no_sum_and_are_not_counted_among_the_few() -> None:
    few = differences(EXACT)
    assert randomisation_test(np.concatenate([few, np.zeros((1000, 1))])) == pytest.approx(randomisation_test(few))


def test_many_differences_are_tested_with_drawn_signs_near_the_exact_p() -> None:
    values = differences(EXACT + 1, seed=3)
    signs = np.array(list(product((1, -1), repeat=EXACT + 1)))
    exact = np.mean(np.abs(signs @ values[:, 0]) >= abs(values.sum()) - 1e-12)
    found = randomisation_test(values)[0]
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / DRAWN))
    assert found * (DRAWN + 1) == pytest.approx(round(found * (DRAWN + 1)))


def test_p_of_a_pair_depends_on_no_other_pair() -> None:
    values = differences(40, pairs=3)
    assert randomisation_test(values).tolist() == [randomisation_test(values[:, [pair]])[0] for pair in range(3)]


def test_drawn_signs_never_give_0_and_systems_that_are_equal_have_p_1() -> None:
    assert randomisation_test(np.full((100, 1), 0.01)) == pytest.approx([1 / (DRAWN + 1)])
    balanced = np.concatenate([np.full(20, 0.1), np.full(20, -0.1)])
    assert randomisation_test(np.stack([np.zeros(40), balanced], axis=1)).tolist() == [1.0, 1.0]


def test_the_interval_of_one_corpus_is_that_of_the_paired_t_test() -> None:
    a, b = np.random.default_rng(1).random((2, 30))
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert confidence_interval([a - b]) == pytest.approx(expected)


def test_the_interval_over_two_forums_is_that_of_welch() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.normal(0.1, 0.2, 12), generator.normal(0.3, 0.6, 40)
    expected = stats.ttest_ind(first, -second, equal_var=False).confidence_interval(0.95)
    assert confidence_interval([first, second]) == pytest.approx((expected.low / 2, expected.high / 2))


def test_an_interval_needs_two_queries_and_is_a_point_where_nothing_varies() -> None:
    assert np.isnan(confidence_interval([np.array([0.5])])).all()
    assert confidence_interval([np.zeros(5)]) == (0.0, 0.0)


def test_the_effect_size_is_the_mean_over_the_standard_deviation_and_not_defined_without_spread() -> None:
    assert np.isnan(effect_size(np.full(4, 0.1), np.full(4, 1 / 4)))
    assert np.isnan(effect_size(np.array([0.1]), np.ones(1)))
    values = np.random.default_rng(4).normal(0.2, 0.5, 25)
    assert effect_size(values, np.full(25, 1 / 25)) == pytest.approx(values.mean() / values.std(ddof=1))


def test_the_effect_size_over_forums_weighs_forums_equally() -> None:
    first, second = np.array([0.0, 1.0]), np.array([0.5, 0.5, 0.5, 0.1])
    weights = np.array([1 / 4] * 2 + [1 / 8] * 4)
    mean = (0.5 + 0.4) / 2
    variance = (np.mean((first - mean) ** 2) + np.mean((second - mean) ** 2)) / 2 * 6 / 5
    assert effect_size(np.concatenate([first, second]), weights) == pytest.approx(mean / np.sqrt(variance))


def test_holm_multiplies_by_the_number_of_what_is_left_and_never_descends() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.5])) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []
    # Not-a-number is no test, and multiplies none.
    assert holm(np.array([np.nan, 0.01, np.nan, 0.04])) == pytest.approx([np.nan, 0.02, np.nan, 0.04], nan_ok=True)
    assert np.isnan(holm(np.array([np.nan]))).all()


def test_strata_can_have_weights_as_a_mean_over_datasets_with_forums_has() -> None:
    first, second, third = (np.random.default_rng(seed).normal(0.1, 0.3, 30 + seed) for seed in range(3))
    weights = [0.5, 0.25, 0.25]
    # Two strata of a quarter each are one of a half with the mean of theirs.
    middle = np.mean(confidence_interval([first, second, third], weights=weights))
    assert middle == pytest.approx((first.mean() + (second.mean() + third.mean()) / 2) / 2)
    assert confidence_interval([first, second], weights=[0.5, 0.5]) == confidence_interval([first, second])


def test_differences_without_spread_do_not_tell_what_could_be_detected() -> None:
    # The mean of three or seven times 0.1 is rounded, so that numpy's variance of them is not 0.
    assert all(np.isnan(detectable_difference([np.full(queries, value)])) for queries in (3, 7, 9) for value in (0.0, 0.1))
    assert np.isnan(effect_size(np.array([0.9 - 0.8, 0.2 - 0.1]), np.full(2, 1 / 2)))


def test_p_of_the_t_test_is_that_of_scipy_and_of_welch() -> None:
    a, b = np.random.default_rng(1).normal(0.02, 1, (2, 30))
    assert paired_t_test([a - b]) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_t_test([a, b[:12]]) == pytest.approx(stats.ttest_ind(a, -b[:12], equal_var=False).pvalue)
    for queries in (3, 5, 7):
        assert [paired_t_test([np.full(queries, value)]) for value in (0.0, 0.1)] == [1.0, 2 / 2**queries]
    assert paired_t_test([np.array([0.5])]) == 1


def test_equivalence_is_two_one_sided_t_tests() -> None:
    values, margin = np.random.default_rng(5).normal(0.001, 0.02, 80), 0.005
    found = equivalence([values], margin)
    sides = [stats.ttest_1samp(values, sign * margin, alternative=side).pvalue for sign, side in ((-1, "greater"), (1, "less"))]
    assert found.p == pytest.approx(max(sides))
    assert (found.low, found.high) == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.9))
    # The interval and the tests are one decision.
    for each in (0.002, 0.003, 0.004, 0.005, 0.01):
        found = equivalence([values], each)
        assert found.equivalent == (-each < found.low and found.high < each) == (found.p < 0.05)
    assert [equivalence([np.full(9, value)], margin).equivalent for value in (0.0, 0.004, 0.006)] == [True, True, False]
    assert equivalence([np.array([0.0])], margin).equivalent is None
