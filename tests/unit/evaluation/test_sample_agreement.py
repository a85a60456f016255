"""Agreement of a sample's order of systems with that of the full dataset, against scipy."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from beirflow.evaluation.sample_agreement import COLUMNS, agreement_table

SIZES = {"nanobeir.a": 20, "a": 60, "nanobeir.b": 15, "b-1": 30, "b-2": 40, "c": 9}
ROWS = {"nanobeir.a": ["nanobeir.a"], "a": ["a"], "c": ["c"], "nanobeir.b": ["nanobeir.b"], "b": ["b-1", "b-2"]}
BOTH = "mean of 2 (a, b)"


def values(systems: int, **means: float) -> dict[tuple[str, str], np.ndarray]:
    """Of systems that are better the later they come, unless a corpus states another step between two."""
    return {
        (f"s{number}", corpus): np.random.default_rng([number, size]).normal(number * means.get(corpus, 0.1), 0.3, size)
        for number in range(systems)
        for corpus, size in SIZES.items()
    }


def test_tau_is_scipys_and_one_of_means_is_of_their_means() -> None:
    of = values(5)
    table = agreement_table({"NDCG@10": of}, ROWS).set_index("dataset")
    assert ("dataset", *table.columns) == COLUMNS
    assert list(table.index) == ["a", "b", BOTH]
    assert set(table["systems"]) == {5}
    means = {row: [np.mean([of[f"s{s}", name].mean() for name in corpora]) for s in range(5)] for row, corpora in ROWS.items()}
    for part in "nanobeir.", "":
        means[part + BOTH] = np.mean([means[f"{part}a"], means[f"{part}b"]], axis=0).tolist()
    expected = [kendalltau(means[f"nanobeir.{name}"], means[name]).statistic for name in table.index]
    assert table["tau"].tolist() == pytest.approx(expected)
    assert ((table["low"] <= table["high"]) & (table["high"] <= 1)).all()


def test_the_interval_is_that_of_a_bootstrap_with_scipys_tau() -> None:
    of, pick = values(6), np.random.default_rng(3)
    data = [np.stack([of[f"s{number}", name] for number in range(6)]) for name in ("nanobeir.a", "a")]
    drawn = []
    for _ in range(1000):
        means = (each[:, pick.integers(0, each.shape[1], each.shape[1])].mean(axis=1) for each in data)
        drawn.append(kendalltau(*means).statistic)
    row = agreement_table({"NDCG@10": of}, ROWS).iloc[0]
    # The values of tau among six systems are 2/15 apart.
    assert row[["low", "high"]].tolist() == pytest.approx(np.quantile(drawn, (0.025, 0.975)).tolist(), abs=2 / 15 + 1e-6)


@pytest.mark.parametrize(
    ("systems", "steps", "verdict"),
    [
        (6, {}, "the orders agree"),
        (6, {"a": -0.2}, "the orders disagree"),
        (3, {"a": 0.0}, "undecided: the interval has 0 in it"),
        (2, {}, "undecided: 2 systems, at least 3 are needed"),
    ],
)
def test_a_verdict_needs_systems_and_an_interval_without_0(systems: int, steps: dict[str, float], verdict: str) -> None:
    row = agreement_table({"NDCG@10": values(systems, **steps)}, ROWS).iloc[0]
    assert row["verdict"] == verdict
    assert row[["tau", "low", "high"]].isna().all() == (systems < 3)


def test_a_sample_of_few_queries_decides_nothing() -> None:
    of = {name: each[:4] if name[1] == "nanobeir.a" else each for name, each in values(6).items()}
    row = agreement_table({"NDCG@10": of}, ROWS).iloc[0]
    assert row["verdict"] == "undecided: one of the two has fewer than 5 queries"
    assert (row["tau"] <= 1, np.isnan(row["low"])) == (True, True)


def test_without_a_pair_there_is_nothing() -> None:
    rows = {name: [name] for name in ("nanobeir.a", "c")}
    table = agreement_table({"NDCG@10": values(4)}, rows)
    assert tuple(table.columns) == COLUMNS
    assert table.empty
