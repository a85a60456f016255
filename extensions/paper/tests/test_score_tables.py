"""Table 2 and figure 3: the printed values give the printed counts, ours are beside them, and averages name their datasets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.core.csv_files import read_named_csv
from beirflow.evaluation.paired_tests import HIGHER, LOWER
from beirflow.extensions.paper.evidence import NDCG, Scores, printed_scores
from beirflow.extensions.paper.printed_values import BM25, load_paper
from beirflow.extensions.paper.registry import SCORE_TABLES
from beirflow.extensions.paper.score_tables import (
    against_baseline,
    compare_similarities,
    table_2,
    write_against_baseline,
    write_tables,
)
from results_writer import write_comparison, write_metrics

PAPER = load_paper()
PRINTED = printed_scores(PAPER)
AVERAGE = "difference to BM25, mean of 18 (the paper)"


def row(table: pd.DataFrame, name: str) -> pd.Series:
    return table.set_index("dataset").loc[name]


def test_the_printed_values_give_the_printed_counts_but_of_doct5query() -> None:
    counts = {("bm25+ce", BM25): 16, ("colbert", BM25): 9, ("tas-b", "ance"): 14, ("tas-b", "dpr"): 17}
    counts["doct5query", BM25] = 12  # the paper prints 11 of 18
    assert {pair: len(PRINTED.above(*pair)) for pair in counts} == counts
    assert {len(PRINTED.common(*pair)) for pair in counts} == {18}


def test_the_printed_averages_follow_from_the_printed_values_neither_as_ratio_of_means_nor_as_mean_of_ratios() -> None:
    said = {name: entry["average_difference"] for name, entry in PAPER.systems.items() if "average_difference" in entry}
    of_means = {name: PRINTED.difference(name, BM25, PAPER.zero_shot) for name in said}
    ratios = {
        name: np.mean([PRINTED.values[name, each] / PRINTED.values[BM25, each] - 1 for each in PAPER.zero_shot]) for name in said
    }
    off_means, off_ratios = (np.array([abs(found[name] - said[name]) for name in said]) for found in (of_means, ratios))
    assert off_means.max() == pytest.approx(0.037, abs=0.001)
    assert off_ratios.max() == pytest.approx(0.055, abs=0.001)
    # The ratio of means is nearer, and has every sign as printed, which the mean of ratios has not (TAS-B).
    assert off_means.sum() < off_ratios.sum()
    assert all(np.sign(of_means[name]) == np.sign(said[name]) for name in said)
    assert ratios["tas-b"] > 0 > said["tas-b"]
    assert sorted(said, key=lambda name: said[name])[-3:] == ["doct5query", "colbert", "bm25+ce"]
    assert "does not follow" in row(table_2(PRINTED, PAPER), "difference to BM25, as printed")["note"]


def test_the_paper_as_results_of_ours_is_the_paper() -> None:
    table = table_2(PRINTED, PAPER)
    for name in PAPER.systems:
        printed = table[f"printed {PAPER.label(name)}"].iloc[:-1]
        assert np.array_equal(printed, table[f"here {name}"].iloc[:-1])
    assert row(table, "quora")["best_printed"] == "ColBERT"
    assert row(table, "arguana")["best_here"] == "genq"
    assert row(table, AVERAGE)["here bm25+ce"] == pytest.approx(8.573 / 7.622 - 1, abs=1e-4)


def test_averages_are_over_the_same_datasets_in_every_cell_and_name_them() -> None:
    names = ("nq", "scifact", "own", "msmarco")
    values = {(system, name): 0.1 * i for i, system in enumerate(("bm25", "mine"), 1) for name in names}
    table = table_2(Scores(values, NDCG, PAPER.in_domain), PAPER)
    assert list(table["dataset"][:20]) == [*PAPER.datasets, "own"]
    shared = row(table, "difference to BM25, mean of 2 (those of the paper that are here: nq, scifact)")
    assert shared["here mine"] == pytest.approx(1.0)
    assert shared["printed TAS-B"] == pytest.approx((0.463 + 0.643) / (0.329 + 0.665) - 1)
    everything = row(table, "mean of 3 (all that are here, in-domain ones left out: nq, scifact, own)")
    assert everything["here mine"] == pytest.approx(0.2)
    assert np.isnan(everything["printed TAS-B"])
    assert np.isnan(row(table, AVERAGE)["here mine"])


def test_what_is_missing_is_empty_and_named_as_is_what_may_not_be_compared() -> None:
    table = table_2(Scores({("mine", "scifact"): 0.5}, NDCG, PAPER.in_domain), PAPER)
    assert row(table, "robust04")["note"] == "not public, so it needs a copy of one's own"
    assert row(table, "nq")["note"] == "not evaluated here"
    assert np.isnan(row(table, "nq")["here mine"])
    of_ours = row(table, "difference to BM25, mean of 1 (those of the paper that are here: scifact)")
    assert np.isnan(of_ours["here mine"])
    assert of_ours["note"] == "No BM25 is among the systems here."
    # Values that may not be compared say why.
    values = {("bm25", "arguana"): 0.4, ("bm25", "webis-touche2020"): 0.4, ("bm25", "trec-covid"): 0.1}
    assert "self matches" in row(table_2(Scores(values, NDCG), PAPER), "arguana")["note"]
    assert row(table_2(Scores(values, NDCG), PAPER), "webis-touche2020")["note"] == ""
    assert row(table_2(Scores(values, NDCG), PAPER), "trec-covid")["note"] == ""
    assert "493.5 relevant" in row(table_2(Scores(values, "Recall@100"), PAPER), "trec-covid")["note"]


def test_tables_of_three_measures_are_written(tmp_path: Path) -> None:
    measures = {NDCG: [0.2, 0.4], "Recall@100": [0.5, 0.7], "R_cap@100": [1.0, 0.8]}
    paths = [write_metrics(tmp_path, "bm25", "scifact", measures)[0]]
    (tmp_path / "paper").mkdir()
    write_tables(means_paths=paths, folder=str(tmp_path / "paper"), measures=SCORE_TABLES)
    for name, expected in zip(SCORE_TABLES, (0.3, 0.6, 0.9), strict=True):
        table = read_named_csv(str(tmp_path / f"paper/{name}.csv"))
        assert row(table, "scifact")["here bm25"] == pytest.approx(expected)
        assert ("printed BM25" in table) == (name == "table-2")


def test_simulated_results_of_the_whole_paper_come_out_as_printed(tmp_path: Path) -> None:
    """Ten systems on all nineteen datasets, with the printed values in the files that an evaluation leaves."""
    names = {system: entry["ours"][0] for system, entry in PAPER.systems.items()}
    pairs = [(system, name) for system in PAPER.systems for name in PAPER.datasets]
    paths = [write_metrics(tmp_path, names[pair[0]], pair[1], {NDCG: [PRINTED.values[pair]]})[0] for pair in pairs]
    (tmp_path / "paper").mkdir()
    write_tables(means_paths=paths, folder=str(tmp_path / "paper"), measures=SCORE_TABLES)
    table = read_named_csv(str(tmp_path / "paper/table-2.csv")).set_index("dataset")
    computed = [name for name in table.index if not name.endswith("as printed")]
    assert len(computed) == 19 + 2
    for system, ours in names.items():
        assert table.loc[computed, f"here {ours}"].tolist() == table.loc[computed, f"printed {PAPER.label(system)}"].tolist()
    best = table.loc[PAPER.zero_shot, "best_printed"].value_counts()
    assert best.to_dict() == {"BM25+CE": 15, "GenQ": 1, "BM25": 1, "ColBERT": 1}
    table = against_baseline(Scores({}), {}, "bm25", PAPER).query("source == 'printed'").set_index("system")
    counts = {"BM25+CE": [16, 2], "ColBERT": [9, 9], "docT5query": [12, 6], "DeepCT": [0, 18]}
    assert {name: table.loc[name, ["better", "worse"]].tolist() for name in counts} == counts
    assert table["surely_better"].isna().all()


def test_only_what_both_have_and_nobody_was_trained_on_is_counted() -> None:
    values = {("base", "a"): 0.1, ("base", "b"): 0.2, ("base", "c"): 0.3, ("base", "msmarco"): 0.4}
    values |= {("x", "a"): 0.2, ("x", "b"): 0.2, ("x", "c"): 0.1, ("x", "msmarco"): 0.9, ("x", "d"): 1.0}
    marks = {("x", "a"): HIGHER, ("x", "msmarco"): HIGHER, ("x", "c"): LOWER}
    row = against_baseline(Scores(values, in_domain=["msmarco"]), marks, "base", PAPER).query("source == 'here'").iloc[0]
    assert row[["better", "worse", "equal", "surely_better", "surely_worse"]].tolist() == [1, 1, 1, 1, 1]
    assert row["datasets"] == "a, b, c"


def test_what_is_sure_is_what_the_comparison_says(tmp_path: Path) -> None:
    paths = [
        write_metrics(tmp_path, system, name, {"NDCG@10": [value] * queries})
        for system, value in (("base", 0.5), ("x", 0.6))
        for name, queries in (("many", 30), ("few", 2))
    ]
    comparison, table_path = write_comparison(tmp_path, paths, {"many": ["many"], "few": ["few"]}), str(tmp_path / "against.csv")
    means = [path for path, _ in paths]
    write_against_baseline(means_paths=means, comparison_path=comparison, baseline="base", table_path=table_path)
    row = read_named_csv(table_path).query("source == 'here'").iloc[0]
    assert row[["better", "worse", "surely_better", "surely_worse"]].tolist() == [2, 0, 1, 0]


def test_both_similarities_of_a_dataset_are_in_one_row(tmp_path: Path) -> None:
    scores = {
        ("by-cosine", "nq"): 0.25,
        ("by-dot", "nq"): 0.5,
        ("other", "nq"): 0.75,
        ("by-cosine", "trec-covid"): 0.5,
        ("by-dot", "trec-covid"): 0.25,
    }
    paths = [write_metrics(tmp_path, system, name, {"NDCG@10": [value]})[0] for (system, name), value in scores.items()]
    of = [(name, system, 10.0 if system == "by-cosine" else 99.0) for system, name in scores]
    pd.DataFrame(of, columns=["dataset", "of", "median"]).to_csv(tmp_path / "medians.csv", index=False)
    table_path = str(tmp_path / "similarities.csv")
    arguments = {"means_paths": paths, "medians_path": str(tmp_path / "medians.csv"), "table_path": table_path}
    compare_similarities(**arguments, pairs=[["by-cosine", "by-dot"]])
    assert read_named_csv(table_path).fillna(0).values.tolist() == [
        ["nq", "by-cosine", "by-dot", 0.25, 0.5, 0.25, 0, 10, 99],
        ["trec-covid", "by-cosine", "by-dot", 0.5, 0.25, -0.25, 0.153, 10, 99],  # the text of the paper has this difference alone
    ]
    compare_similarities(**arguments, pairs=[])
    assert read_named_csv(table_path).empty
