"""Intervals of means and ranks, against scipy's bootstrap, exact probabilities, and simulations."""

from collections.abc import Mapping
from itertools import combinations, product
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from beirflow.evaluation import uncertainty
from beirflow.evaluation.paired_tests import detectable_difference
from beirflow.evaluation.significance import Values, comparison_table

SIZES = {"plain": 40, "stack-a": 5, "stack-b": 30}
ROWS = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
LABEL = "mean of 2 (plain, stack)"
SYSTEMS = {"good": 0.6, "fair": 0.5, "poor": 0.1}


def values(rows: Mapping[str, int]) -> dict[tuple[str, str], np.ndarray]:
    """Of systems that are good on average, with the hard queries the same for all."""
    hard = {corpus: np.random.default_rng([size]).normal(0, 0.2, size) for corpus, size in rows.items()}
    return {
        (system, corpus): np.clip(mean + hard[corpus] + np.random.default_rng([size, int(100 * mean)]).normal(0, 0.1, size), 0, 1)
        for system, mean in SYSTEMS.items()
        for corpus, size in rows.items()
    }


def table_of(
    of: Values, rows: Mapping[str, list[str]] = ROWS, averages: Mapping[str, list[str]] = MappingProxyType({})
) -> pd.DataFrame:
    by_measure = {"NDCG@10": of}
    return uncertainty.uncertainty_table(by_measure, rows, averages, comparison_table(by_measure, rows, averages))


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    return table_of(values(SIZES), averages={LABEL: ["plain", "stack"]})


def row_of(table: pd.DataFrame, dataset: str, system: str) -> pd.Series:
    return table[(table["dataset"] == dataset) & (table["system"] == system)].iloc[0]


def test_every_system_has_a_row_on_every_dataset_and_in_every_mean(made: pd.DataFrame) -> None:
    assert tuple(made.columns) == uncertainty.COLUMNS
    names = [(row, system) for row in (*ROWS, LABEL) for system in SYSTEMS]
    assert list(zip(made["dataset"], made["system"], strict=True)) == names
    of = values(SIZES)
    pd.testing.assert_frame_equal(table_of(of, averages={LABEL: ["plain", "stack"]}), made)
    # The draws of one dataset depend on no other.
    alone = table_of(of, {"plain": ["plain"]})
    pd.testing.assert_frame_equal(alone, made[made["dataset"] == "plain"])


def test_an_interval_is_that_of_scipys_bootstrap(made: pd.DataFrame) -> None:
    numbers = values(SIZES)["fair", "plain"]
    level = 1 - 2 * uncertainty.tail([len(numbers)])
    rng = np.random.default_rng(1)
    found = stats.bootstrap((numbers,), np.mean, confidence_level=level, method="percentile", n_resamples=50_000, rng=rng)
    row, error = row_of(made, "plain", "fair"), numbers.std() / np.sqrt(len(numbers))
    assert (row["low"], row["high"]) == pytest.approx(found.confidence_interval, abs=0.08 * error)
    assert row["mean"] == numbers.mean()


def test_forums_and_datasets_count_alike_and_each_is_drawn_by_itself(made: pd.DataFrame) -> None:
    parts = [values(SIZES)["fair", corpus] for corpus in ("stack-a", "stack-b")]
    row = row_of(made, "stack", "fair")
    assert row["mean"] == (parts[0].mean() + parts[1].mean()) / 2
    spread = np.sqrt(sum(part.var() / len(part) for part in parts)) / 2
    reach = np.sqrt(5 / 4) * stats.t.ppf(0.975, 5 + 30 - 2)  # of the smaller forum, and of both
    assert row["high"] - row["low"] == pytest.approx(2 * reach * spread, rel=0.05)
    whole = row_of(made, LABEL, "fair")
    assert whole["mean"] == (row["mean"] + row_of(made, "plain", "fair")["mean"]) / 2


def test_bounds_of_means_and_ranks_and_shares_are_those_of_all_draws() -> None:
    of = {"a": [0.9, 0.1, 0.5, 0.7, 0.3], "b": [0.4, 0.2, 0.55, 0.75, 0.25], "c": [0.4, 0.2, 0.55, 0.3, 0.7]}
    table = table_of({(system, "d"): np.array(each) for system, each in of.items()}, {"d": ["d"]})
    # Every draw, from the definitions: the rank is one more than those above, and half of the equal others.
    draws = [[round(sum(each[place] for place in places), 9) for each in of.values()] for places in product(range(5), repeat=5)]
    ranks = [[1 + sum(x > own for x in draw) + (draw.count(own) - 1) / 2 for own in draw] for draw in draws]
    first = [[(own == max(draw)) / draw.count(max(draw)) for own in draw] for draw in draws]
    beyond = stats.norm.cdf(-np.sqrt(5 / 4) * stats.t.ppf(0.975, 4)) * len(draws)
    for place, row in enumerate(table.to_dict("records")):
        sums, of_rank = sorted(draw[place] / 5 for draw in draws), sorted(rank[place] for rank in ranks)
        assert (row["low"], row["high"]) == pytest.approx((sums[int(beyond)], sums[-1 - int(beyond)]), abs=0.02)
        assert (row["rank_low"], row["rank_high"]) == (of_rank[int(beyond)], of_rank[-1 - int(beyond)])
        assert row["first"] == pytest.approx(np.mean(first, axis=0)[place], abs=0.02)
    assert table["first"].sum() == pytest.approx(1, abs=3e-6)


def test_an_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    kinds, between = np.random.default_rng(1).random((2, 10, 400))
    samples = np.where(kinds < 0.3, 0, np.where(kinds < 0.6, 1, between))  # as NDCG: many at 0 and at 1; the mean is 0.5
    share = uncertainty.tail([10])
    low, high = np.quantile(uncertainty.resampled_means(samples, "d"), (share, 1 - share), axis=0)
    assert np.mean((low <= 0.5) & (high >= 0.5)) > 0.935  # 0.91 by plain percentiles


def test_too_few_queries_have_no_interval_and_equal_ones_none_of_the_mean() -> None:
    def table(queries: int) -> pd.DataFrame:
        of = {("a", "d"): np.linspace(0.2, 0.4, queries), ("b", "d"): np.full(queries, 1.0)}
        return table_of(of, {"d": ["d"]}).set_index("system")

    bounds = ["low", "high", "rank_low", "rank_high", "first"]
    for queries in (1, uncertainty.FEWEST - 1):
        assert table(queries)[bounds].isna().all(axis=None)
        assert table(queries)["rank"].tolist() == [2, 1]
    enough = table(uncertainty.FEWEST)
    assert enough.loc["a", bounds].notna().all()
    assert enough.loc["b", bounds].isna().tolist() == [True, True, False, False, False]


def test_ranks_and_groups_follow_the_tests(made: pd.DataFrame) -> None:
    of = made[made["dataset"] == "plain"].set_index("system")
    assert of.loc["poor", ["rank", "rank_low", "rank_high", "first"]].tolist() == [3, 3, 3, 0]
    letters = {name: set(text.split()) for name, text in of["groups"].items()}
    assert not letters["poor"] & letters["good"]
    # Nothing is told apart if no test does it.
    by_measure = {"NDCG@10": values(SIZES)}
    alike = comparison_table(by_measure, ROWS, {}).assign(p=1.0)
    table = uncertainty.uncertainty_table(by_measure, ROWS, {}, alike)
    assert set(table["groups"]) == {"a"}


@pytest.mark.parametrize("count", [1, 4, 7])
def test_two_share_a_letter_exactly_if_they_are_not_told_apart(count: int) -> None:
    pick = np.random.default_rng(count)
    for share in (0.0, 0.3, 0.7, 1.0):
        apart = {pair for pair in combinations(range(count), 2) if pick.random() < share}
        letters = [set(text.split()) for text in uncertainty.group_letters(pick.permutation(count).tolist(), apart)]
        assert all(letters)
        assert {pair for pair in combinations(range(count), 2) if not letters[pair[0]] & letters[pair[1]]} == apart
    assert uncertainty.group_letters([2, 0, 1], {(1, 2)}) == ["a b", "b", "a"]
    assert [uncertainty.letter(number) for number in (0, 25, 26, 52)] == ["a", "z", "aa", "ba"]


def test_a_mean_over_five_datasets_has_an_interval_for_new_datasets_too() -> None:
    rows = {f"d{number}": 60 for number in range(uncertainty.FEWEST)}
    shift = dict(zip(rows, (-0.4, -0.2, 0.0, 0.2, 0.4), strict=True))
    of = {(system, row): each + shift[row] for (system, row), each in values(rows).items()}
    alone = {row: [row] for row in rows}
    table = table_of(of, alone, {"mean of 5": list(rows)})
    means = table[table["dataset"] == "mean of 5"]
    assert means["resampled"].tolist() == ["queries"] * 3 + ["datasets and queries"] * 3
    queries, datasets = (
        means[means["resampled"] == kind].set_index("system").loc["fair"] for kind in means["resampled"].unique()
    )
    by_dataset = np.array([of["fair", row].mean() for row in rows])
    spread = np.sqrt(by_dataset.var() / 5 + np.mean([of["fair", row].var() / 60 for row in rows]) / 5)
    assert datasets["high"] - datasets["low"] == pytest.approx(2 * np.sqrt(5 / 4) * stats.t.ppf(0.975, 4) * spread, rel=0.2)
    assert queries["high"] - queries["low"] < (datasets["high"] - datasets["low"]) / 3
    assert means.iloc[3:][["groups", "detectable"]].isna().all(axis=None)


def test_a_single_system_has_intervals_and_nothing_to_be_compared_with() -> None:
    of = {key: each for key, each in values(SIZES).items() if key[0] == "fair"}
    table = table_of(of)
    assert (table["low"] < table["mean"]).all()
    assert table[["rank", "first"]].to_numpy().tolist() == [[1, 1]] * 2
    assert table[["groups", "detectable"]].isna().all(axis=None)


def test_what_is_detectable_is_the_median_over_pairs_and_found_in_four_of_five_experiments(made: pd.DataFrame) -> None:
    of = values(SIZES)
    parts = [detectable_difference([of[a, "plain"] - of[b, "plain"]]) for a, b in combinations(SYSTEMS, 2)]
    assert row_of(made, "plain", "good")["detectable"] == pytest.approx(np.median(parts), abs=1e-6)
    spread, sizes = 0.3, (50, 80)
    generator = np.random.default_rng(11)
    weights = [0.75, 0.25]
    typical = [generator.normal(0, spread, size) for size in sizes]
    typical = [spread * (part - part.mean()) / part.std(ddof=1) for part in typical]
    least = detectable_difference(typical, weights=weights)
    draws = [np.random.default_rng(seed).normal(least, spread, (4000, size)) for seed, size in enumerate(sizes)]
    middle = sum(weight * draw.mean(axis=1) for weight, draw in zip(weights, draws, strict=True))
    error = np.sqrt(
        sum(weight**2 * draw.var(axis=1, ddof=1) / draw.shape[1] for weight, draw in zip(weights, draws, strict=True))
    )
    assert np.mean(np.abs(middle / error) > 1.99) == pytest.approx(0.8, abs=0.03)


def test_queries_and_datasets_are_drawn_with_replacement() -> None:
    means = uncertainty.resampled_means(np.array([[0.0, 1.0], [1.0, 0.0]]), "d")
    assert means.shape == (uncertainty.DRAWN, 2)
    assert means.sum(axis=1).tolist() == [1.0] * uncertainty.DRAWN  # the same queries for both columns
    assert [np.mean(means[:, 0] == value) for value in (0, 0.5, 1)] == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
    datasets = uncertainty.resampled_datasets(np.stack([np.zeros((uncertainty.DRAWN, 1)), np.ones((uncertainty.DRAWN, 1))]), "m")
    assert [np.mean(datasets == value) for value in (0, 0.5, 1)] == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
