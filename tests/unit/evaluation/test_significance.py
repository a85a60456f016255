"""The file that says whether systems differ."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from beirflow.core.errors import DataError
from beirflow.evaluation import significance
from beirflow.evaluation.paired_tests import against, holm, paired_t_test
from beirflow.evaluation.significance import COLUMNS
from results_writer import write_comparison, write_metrics

ROWS = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
SIZES = {"plain": 12, "stack-a": 3, "stack-b": 5}


def values(system: str, corpus: str) -> np.ndarray:
    return np.random.default_rng([*system.encode(), *corpus.encode()]).random(SIZES[corpus])


def compare(folder: Path, systems: list[str], **changes: Any) -> pd.DataFrame:
    paths = [
        write_metrics(folder, system, corpus, {"NDCG@10": values(system, corpus), "P@10": np.ones(size)})
        for system in systems
        for corpus, size in SIZES.items()
    ]
    return pd.read_csv(write_comparison(folder, paths, **{"rows": ROWS, **changes}))


def compare_on(folder: Path, dataset: str, values: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """Compare systems by their measures on one dataset."""
    paths = [write_metrics(folder, name, dataset, of) for name, of in values.items()]
    return pd.read_csv(write_comparison(folder, paths, {dataset: [dataset]}))


def test_every_two_systems_are_compared_on_every_dataset(tmp_path: Path) -> None:
    table = compare(tmp_path, ["x", "y", "z"])
    assert tuple(table.columns) == COLUMNS
    found = list(zip(table["dataset"], table["system_a"], table["system_b"], strict=True))
    assert found == [(row, a, b) for row in ROWS for a, b in (("x", "y"), ("x", "z"), ("y", "z"))]
    assert set(table["measure"]) == {"NDCG@10"}
    before = (tmp_path / "significance.csv").read_bytes()
    compare(tmp_path, ["x", "y", "z"])
    assert (tmp_path / "significance.csv").read_bytes() == before


def test_a_plain_dataset_is_compared_as_by_scipy(tmp_path: Path) -> None:
    row = compare(tmp_path, ["x", "y"]).iloc[0]
    a, b = values("x", "plain"), values("y", "plain")
    exact = stats.permutation_test((a, b), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf)
    assert row["p"] == pytest.approx(exact.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(stats.ttest_rel(a, b).confidence_interval())
    assert (row["mean_a"], row["mean_b"], row["difference"]) == pytest.approx((a.mean(), b.mean(), a.mean() - b.mean()))
    assert row["effect_size"] == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
    assert row["queries"] == 12


def test_a_dataset_of_forums_is_compared_by_the_plain_mean_of_its_forums(tmp_path: Path) -> None:
    row = compare(tmp_path, ["x", "y"]).iloc[1]
    parts = [values("x", corpus) - values("y", corpus) for corpus in ROWS["stack"]]
    assert row["difference"] == pytest.approx((parts[0].mean() + parts[1].mean()) / 2)
    assert row["queries"] == 3 + 5
    signs = 1 - 2 * ((np.arange(1 << 8)[:, None] >> np.arange(8)) & 1)
    means = (signs * np.concatenate([parts[0] / 6, parts[1] / 10])).sum(axis=1)
    assert row["p"] == pytest.approx(np.mean(np.abs(means) >= abs(row["difference"]) - 1e-12))


def test_a_mean_over_datasets_is_tested_by_the_t_test_with_its_corpora_as_strata(tmp_path: Path) -> None:
    label = "mean of 2 (plain, stack)"
    table = compare(tmp_path, ["x", "y", "z"], averages={label: ["plain", "stack"]})
    of_mean = table[table["dataset"] == label]
    row, shares = of_mean.iloc[0], {"plain": 1 / 2, "stack-a": 1 / 4, "stack-b": 1 / 4}
    parts = {corpus: values("x", corpus) - values("y", corpus) for corpus in shares}
    difference = sum(share * parts[corpus].mean() for corpus, share in shares.items())
    error = sum(share**2 * parts[corpus].var(ddof=1) / len(parts[corpus]) for corpus, share in shares.items()) ** 0.5
    assert (row["difference"], row["queries"]) == (pytest.approx(difference), 20)
    assert row["p"] == pytest.approx(paired_t_test([*parts.values()], [*shares.values()]))
    assert row["p"] > 2 * stats.norm.sf(abs(difference) / error), "the tails of t are heavier"
    assert row["mean_a"] == pytest.approx(table[table["system_b"] == "y"]["mean_a"].iloc[:2].mean())
    # The marks of datasets do not depend on means.
    others = compare(tmp_path, ["x", "y", "z"])
    pd.testing.assert_frame_equal(table[table["dataset"] != label], others)
    assert of_mean["p_holm"].tolist() == pytest.approx(holm(of_mean["p"].to_numpy()).tolist())
    family = against(table, "NDCG@10", "y")
    assert family["p_holm"].iloc[-2:].tolist() == pytest.approx(holm(family["p"].to_numpy()[-2:]).tolist())
    assert family["p_holm"].iloc[:-2].tolist() == against(others, "NDCG@10", "y")["p_holm"].tolist()


def test_p_is_corrected_for_all_pairs_and_datasets_or_for_those_with_a_baseline(tmp_path: Path) -> None:
    table = compare(tmp_path, ["x", "y", "z"])
    assert table["p_holm"].tolist() == pytest.approx(holm(table["p"].to_numpy()).tolist())
    assert table["p_holm"].iloc[table["p"].argmin()] == pytest.approx(min(1, 6 * table["p"].min()))
    family = against(table, "NDCG@10", "y")
    assert [{a, b} for a, b in zip(family["system_a"], family["system_b"], strict=True)] == [{"x", "y"}, {"y", "z"}] * 2
    assert family["p"].tolist() == table["p"][family.index].tolist()
    assert family["p_holm"].iloc[family["p"].argmin()] == pytest.approx(min(1, 4 * family["p"].min()))
    assert against(table, "P@10", "y").empty


def test_a_run_with_fewer_documents_a_query_than_the_cutoff_is_not_tested_by_that_measure(tmp_path: Path) -> None:
    counts = {"documents": 1000, "queries": 12}
    paths = []
    for system, most in (("x", 1000), ("rerank", 50), ("y", 100)):
        each = values(system, "plain")
        of = {"NDCG@10": each, "Recall@100": each / 2}
        paths.append(write_metrics(tmp_path, system, "plain", of, counts={**counts, "retrieved_limit": most}))
    label = "mean of 1 (plain)"
    path = write_comparison(tmp_path, paths, {"plain": ["plain"]}, averages={label: ["plain"]})
    table = pd.read_csv(path).set_index(["dataset", "measure", "system_a", "system_b"]).sort_index()
    tests = ["low", "high", "p", "p_holm", "effect_size", "detectable"]
    for dataset in ("plain", label):
        ndcg, recall = (table.loc[(dataset, measure)] for measure in ("NDCG@10", "Recall@100"))
        assert ndcg[tests].notna().all(axis=None)
        assert recall.loc[("x", "y"), tests].notna().all()
        for pair in (("x", "rerank"), ("rerank", "y")):
            assert recall.loc[pair, tests].isna().all()
            assert recall.loc[pair, "difference"] == pytest.approx(ndcg.loc[pair, "difference"] / 2)
        # The one test that is left is corrected for no other.
        assert recall.loc[("x", "y"), "p_holm"] == recall.loc[("x", "y"), "p"]
        assert ndcg["p_holm"].tolist() == pytest.approx(holm(ndcg["p"].to_numpy()).tolist())
    uncertain = pd.read_csv(tmp_path / "uncertainty.csv").set_index(["dataset", "measure", "system"]).sort_index()["groups"]
    assert uncertain["plain", "NDCG@10"].notna().all()
    assert uncertain["plain", "Recall@100"].isna().to_dict() == {"x": False, "rerank": True, "y": False}


def test_recall_at_100_is_compared_too_in_a_family_of_its_own(tmp_path: Path) -> None:
    of = {name: values(name, "plain") for name in "xy"}
    table = compare_on(tmp_path, "both", {name: {"NDCG@10": each, "Recall@100": each / 2} for name, each in of.items()})
    assert table["measure"].tolist() == ["NDCG@10", "Recall@100"]
    assert table["difference"][1] == pytest.approx(table["difference"][0] / 2)
    assert table["p_holm"].tolist() == table["p"].tolist()


def test_a_dataset_on_which_nothing_can_be_significant_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for queries, warned in ((6, False), (5, True)):
        table = compare_on(tmp_path, "few", {name: {"NDCG@10": [value] * queries} for name, value in (("x", 0.9), ("y", 0.2))})
        assert (table["p_holm"][0] >= 0.05) == warned
        assert ("few: with 5 queries, no difference to a baseline can be significant" in caplog.text) == warned


def test_enough_signs_are_drawn_for_the_number_of_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "DRAWN", 10)
    table = compare_on(tmp_path, "many", {name: {"NDCG@10": [value] * 40} for name, value in (("x", 0.9), ("y", 0.2))})
    assert table["p"][0] == 1 / 41
    # One system is compared with none.
    assert compare(tmp_path, ["x"]).empty
    assert (tmp_path / "significance.csv").read_text() == ",".join(COLUMNS) + "\n"


@pytest.mark.parametrize(("x", "y"), [([0.2], [0.9]), ([0.5] * 9, [0.5] * 9)], ids=["one query", "equal systems"])
def test_without_spread_p_is_1_and_there_is_no_interval(tmp_path: Path, x: list[float], y: list[float]) -> None:
    row = compare_on(tmp_path, "one", {"x": {"NDCG@10": x}, "y": {"NDCG@10": y}}).iloc[0]
    assert row["p"] == 1
    assert row[["low", "high", "effect_size", "detectable"]].isna().all()


def test_systems_that_were_evaluated_on_other_queries_are_not_compared(tmp_path: Path) -> None:
    one = write_metrics(tmp_path, "x", "plain", {"NDCG@10": [0.1, 0.2]})
    other = write_metrics(tmp_path, "y", "plain", {"NDCG@10": [0.1, 0.2]}, ids=["q0", "q7"])
    with pytest.raises(DataError, match="other queries") as caught:
        write_comparison(tmp_path, [one, other], {"plain": ["plain"]})
    assert str(caught.value).startswith(other[1])
