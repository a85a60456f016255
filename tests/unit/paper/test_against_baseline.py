"""Figure 3: counts of datasets on which a system is better or worse than the baseline."""

from pathlib import Path

import pytest
from beirflow.evaluation.significance import compare_systems
from beirflow.paper.against_baseline import against_baseline, write_against_baseline
from beirflow.paper.facts import load_facts
from beirflow.paper.scores import Scores
from beirflow.report.leaderboard import HIGHER, LOWER
from beirflow.report.named_tables import read_named_csv
from results_writer import write_metrics

FACTS = load_facts()


@pytest.mark.parametrize(
    ("system", "counts"), [("BM25+CE", (16, 2)), ("ColBERT", (9, 9)), ("docT5query", (12, 6)), ("DeepCT", (0, 18))]
)
def test_the_printed_values_give_these_counts(system: str, counts: tuple[int, int]) -> None:
    table = against_baseline(Scores({}), {}, "bm25", FACTS).query("source == 'printed'").set_index("system")
    assert (table.loc[system, "better"], table.loc[system, "worse"]) == counts
    assert table["surely_better"].isna().all()


def test_only_what_both_have_and_nobody_was_trained_on_is_counted() -> None:
    values = {("base", "a"): 0.1, ("base", "b"): 0.2, ("base", "c"): 0.3, ("base", "msmarco"): 0.4}
    values |= {("x", "a"): 0.2, ("x", "b"): 0.2, ("x", "c"): 0.1, ("x", "msmarco"): 0.9, ("x", "d"): 1.0}
    marks = {("x", "a"): HIGHER, ("x", "msmarco"): HIGHER, ("x", "c"): LOWER}
    row = against_baseline(Scores(values, in_domain=["msmarco"]), marks, "base", FACTS).query("source == 'here'").iloc[0]
    assert row[["better", "worse", "equal", "surely_better", "surely_worse"]].tolist() == [1, 1, 1, 1, 1]
    assert row["datasets"] == "a, b, c"


def test_what_is_sure_is_what_the_comparison_says(tmp_path: Path) -> None:
    paths = [
        write_metrics(tmp_path, system, name, {"NDCG@10": [value] * queries})
        for system, value in (("base", 0.5), ("x", 0.6))
        for name, queries in (("many", 30), ("few", 2))
    ]
    means, per_query = zip(*paths, strict=True)
    comparison = str(tmp_path / "significance.csv")
    compare_systems(
        means_paths=means, per_query_paths=per_query, rows={"many": ["many"], "few": ["few"]}, comparison_path=comparison
    )
    table_path = str(tmp_path / "against.csv")
    write_against_baseline(means_paths=means, comparison_path=comparison, baseline="base", table_path=table_path)
    row = read_named_csv(table_path).query("source == 'here'").iloc[0]
    assert row[["better", "worse", "surely_better", "surely_worse"]].tolist() == [2, 0, 1, 0]
