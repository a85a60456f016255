"""Differences, changes of ranks and correlations of systems on datasets and their twins, against closed forms and scipy."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

from beirflow.extensions.twins.shown import HAKARI, decontaminated, nano_sets, orders
from beirflow.extensions.twins.twins import pairs_of
from beirflow.report.exports import as_markdown
from beirflow.report.pages import Table
from beirflow.report.results import Results
from results_writer import write_metrics

Values = Mapping[str, np.ndarray]
CLEAN, NANO = "beir-decontaminated.", "nanobeir."


def made_up(systems: int, queries: int, seed: int, step: float = 0.05) -> dict[str, np.ndarray]:
    """Values of systems that are better the later they come."""
    numbers = np.random.default_rng(seed)
    return {f"s{number}": numbers.normal(0.3 + step * number, 0.2, queries) for number in range(systems)}


def results_with(folder: Path, datasets: Mapping[str, tuple[Values, list[str]]]) -> Results:
    """Results of these values by dataset, with the ids of the queries."""
    for dataset, (values, ids) in datasets.items():
        for system, of in values.items():
            write_metrics(folder, system, dataset, {"NDCG@10": of}, ids)
    found = Results(folder)
    systems = [*next(iter(datasets.values()))[0]]
    vars(found).update(rows={name: [name] for name in datasets}, system_names=systems, main_measure="NDCG@10")
    return found


def ids(count: int, prefix: str = "q") -> list[str]:
    return [f"{prefix}{number:04}" for number in range(count)]


def half_width(row: pd.Series) -> float:
    return (row["high"] - row["low"]) / 2


def test_the_interval_of_a_subset_is_that_of_a_ratio_and_that_of_other_queries_is_that_of_two_samples(tmp_path: Path) -> None:
    whole = made_up(2, 400, 1)
    own = made_up(2, 100, 2)
    datasets = {
        "a": (whole, ids(400)),
        f"{CLEAN}a": ({name: of[:100] for name, of in whole.items()}, ids(100)),
        "b": (whole, ids(400)),
        f"{CLEAN}b": (own, ids(100, "other")),
    }
    subset, others, mean = (pair.rows().set_index("system") for pair in pairs_of(results_with(tmp_path, datasets), (CLEAN,)))
    for system, values in whole.items():
        part = np.arange(400) < 100
        assert subset.loc[system, "difference"] == pytest.approx(values[part].mean() - values.mean())
        influence = np.where(part, 4 * (values - values[part].mean()), 0) - (values - values.mean())
        assert half_width(subset.loc[system]) == pytest.approx(1.96 * influence.std() / 20, rel=0.06)
        apart = np.sqrt(values.var() / 400 + own[system].var() / 100)
        assert others.loc[system, "difference"] == pytest.approx(own[system].mean() - values.mean())
        assert half_width(others.loc[system]) == pytest.approx(1.96 * apart, rel=0.06)
        both = [each.loc[system, "difference"] for each in (subset, others)]
        assert mean.loc[system, "difference"] == pytest.approx(np.mean(both))
        expected = np.hypot(half_width(subset.loc[system]), half_width(others.loc[system])) / 2
        assert half_width(mean.loc[system]) == pytest.approx(expected, rel=0.06)


def test_a_twin_with_the_same_queries_and_scores_changes_nothing(tmp_path: Path) -> None:
    values = made_up(4, 60, 3)
    pair = pairs_of(results_with(tmp_path, {"a": (values, ids(60)), f"{NANO}a": (values, ids(60))}), (NANO,))[0]
    assert not pair.rows()[["difference", "low", "high", "change", "change_low", "change_high"]].to_numpy().any()
    assert [pair.order()[key] for key in ("rho", "rho_low", "tau", "tau_low", "tau_high")] == pytest.approx([1] * 5)


def test_ranks_change_and_correlate_as_scipy_says(tmp_path: Path) -> None:
    values, worse = made_up(6, 80, 4, 0.3), made_up(6, 50, 5, 0.3)
    worse["s5"] = worse["s5"] - 2.5
    worse["s1"] = worse["s0"]
    pair = pairs_of(results_with(tmp_path, {"a": (values, ids(80)), f"{NANO}a": (worse, ids(50, "n"))}), (NANO,))[0]
    means, order = [[of.mean() for of in some.values()] for some in (values, worse)], pair.order()
    for name, expected in (("rho", spearmanr(*means).statistic), ("tau", kendalltau(*means).statistic)):
        assert order[name] == pytest.approx(expected)
        assert order[f"{name}_low"] - 1e-6 <= expected <= order[f"{name}_high"] + 1e-6
    rows = pair.rows().set_index("system")
    assert list(rows.index) == ["s5", "s4", "s3", "s2", "s1", "s0"]
    assert rows["twin_rank"].tolist() == [6, 1, 2, 3, 4.5, 4.5]
    assert rows.loc["s5", ["change", "change_low", "change_high"]].tolist() == [5, 5, 5]


def test_the_interval_of_tau_is_that_of_a_bootstrap_with_scipys(tmp_path: Path) -> None:
    values, twin, pick = made_up(6, 60, 8), made_up(6, 20, 9), np.random.default_rng(3)
    pair = pairs_of(results_with(tmp_path, {"a": (values, ids(60)), f"{NANO}a": (twin, ids(20, "n"))}), (NANO,))[0]
    drawn = []
    for _ in range(1000):
        data = (np.stack([*of.values()]) for of in (values, twin))
        drawn.append(
            kendalltau(*(each[:, pick.integers(0, each.shape[1], each.shape[1])].mean(axis=1) for each in data)).statistic
        )
    order = pair.order()
    # The values of tau among six systems are 2/15 apart.
    expected = np.quantile(drawn, (0.025, 0.975)).tolist()
    assert [order["tau_low"], order["tau_high"]] == pytest.approx(expected, abs=2 / 15 + 1e-6)


@pytest.mark.parametrize(
    ("step", "verdict"), [(0.1, "the orders agree"), (-0.2, "the orders disagree"), (0.0, "undecided")], ids=str
)
def test_orders_agree_or_disagree_where_the_interval_of_tau_is_without_0(tmp_path: Path, step: float, verdict: str) -> None:
    values, twin = made_up(6, 60, 10, step), made_up(6, 50, 11, 0.1)
    pair = pairs_of(results_with(tmp_path, {"a": (values, ids(60)), f"{NANO}a": (twin, ids(50, "n"))}), (NANO,))[0]
    assert pair.order()["verdict"] == verdict


def test_few_queries_have_no_interval(tmp_path: Path) -> None:
    values = made_up(3, 30, 6)
    twin = {name: of[:4] for name, of in values.items()}
    pair = pairs_of(results_with(tmp_path, {"a": (values, ids(30)), f"{NANO}a": (twin, ids(4))}), (NANO,))[0]
    assert pair.rows()[["low", "high", "change_low", "change_high"]].isna().all(axis=None)
    assert np.isnan(pair.order()["tau_low"])
    assert pair.order()["verdict"] == "undecided"


def seen(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_report_has_twins_beside_whole_datasets_and_the_order_that_others_state(tmp_path: Path) -> None:
    values = made_up(3, 40, 7, 0.2)
    twins = [f"{prefix}{name}" for prefix in (CLEAN, NANO) for name in "ab"]
    datasets = {name: (values, ids(40)) for name in ["a", "b", "c", *twins]}
    results = results_with(tmp_path, datasets)
    (clean,), (nano,), (order,) = (list(table(results)) for table in (decontaminated, nano_sets, orders))
    assert [row[:2] for row in seen(clean)][:4] == [["a", "s2"], ["a", "s1"], ["a", "s0"], ["b", "s2"]]
    assert seen(nano)[6][0] == "mean of 2 (a, b)"
    assert seen(nano)[0][4:] == ["+0.0000"] * 3 + ["1", "1"] + ["+0"] * 3
    stated = [row[:2] for row in seen(order) if f"+{HAKARI}" in row]
    assert stated == [["mean of 2 (a, b)", "NanoBEIR"]]
    assert {row[2] for row in seen(order)} == {"+1.000"}
    heads = [as_markdown(table).splitlines()[0] for table in (clean, order)]
    assert "| Change of rank Found | " in heads[0]
    assert heads[1].startswith("| Dataset | Twin | Spearman Ranks | ")
    assert heads[1].endswith(" | Systems | Verdict |")
    vars(results).update(rows={"a": ["a"], "c": ["c"]})
    pairs_of.cache_clear()
    assert [list(table(results)) for table in (decontaminated, nano_sets, orders)] == [[], [], []]
