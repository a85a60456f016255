"""The leaderboard: systems by their mean, the best of a column, what differs from the baseline, and what was published."""

from itertools import product

import pandas as pd
import pytest

from beirflow.evaluation.paired_tests import significance_marks
from beirflow.report import leaderboard as boards
from beirflow.report.exports import as_latex
from beirflow.report.pages import HEATS, Scale, Span, Table
from beirflow.report.published import published
from beirflow.report.registry import registered
from report_files import results_of

DATASETS = ["fever", "scifact", "mean of 2 (fever, scifact)"]
SUMMARY = pd.DataFrame(
    {
        "system": ["contriever"] * 3 + ["toy"] * 3 + ["last"] * 3,
        "dataset": DATASETS * 3,
        "split": ["test", "test", None] * 3,
        "NDCG@10": [0.25, 0.5, 0.375, 0.75, 0.5, 0.625, 0.0, 0.25, 0.125],
        "published_NDCG@10": [0.2, 0.6493, *[None] * 7],
        "as_source_NDCG@10": [0.2, 0.5, *[None] * 7],
        "source_NDCG@10": ["paper", "pyserini", *[None] * 7],
    }
)
COMPARISON = pd.DataFrame(
    [
        ("fever", "contriever", "toy", -0.5, 0.001),
        ("fever", "contriever", "last", 0.25, 0.02),
        ("fever", "toy", "last", 0.75, 0.001),
        ("scifact", "contriever", "toy", -0.1, 0.05),
        ("scifact", "last", "contriever", 0.1, 0.01),
    ],
    columns=["dataset", "system_a", "system_b", "difference", "p"],
).assign(measure="NDCG@10")


def seen(table: Table) -> list[list[str]]:
    return [[f"{cell.text}{cell.note}{'*' * cell.best} {cell.below}".rstrip() for cell in row] for row in table.rows]


def test_systems_come_by_their_mean_means_come_first_and_the_shade_says_how_near_the_best_is() -> None:
    table = boards.scores_table(SUMMARY, "NDCG@10")
    assert [column.label for column in table.columns] == ["System", "mean of 2", "fever", "scifact"]
    assert seen(table) == [
        ["toy", "0.6250*", "0.7500*", "0.5000*"],
        ["contriever", "0.3750", "0.2500", "0.5000*"],
        ["last", "0.1250", "0.0000", "0.2500"],
    ]
    heats = [[cell.heat for cell in row[1:]] for row in table.rows]
    assert heats == [[HEATS] * 3, [HEATS // 2, HEATS // 3, HEATS], [0, 0, 0]]


def test_two_means_of_as_many_datasets_are_told_apart() -> None:
    others = SUMMARY.replace({"dataset": {"scifact": "nfcorpus", DATASETS[2]: "mean of 2 (fever, nfcorpus)"}})
    of_both = pd.concat([SUMMARY, others.assign(system=others["system"] + " elsewhere")])
    labels = [column.label for column in boards.scores_table(of_both, "NDCG@10").columns]
    assert labels == ["System", DATASETS[2], "mean of 2 (fever, nfcorpus)", "fever", "scifact", "nfcorpus"]


def test_a_single_system_is_compared_with_nothing() -> None:
    alone = SUMMARY[SUMMARY["system"] == "toy"]
    table = boards.scores_table(alone, "NDCG@10")
    assert [(cell.best, cell.heat) for row in table.rows for cell in row] == [(False, 0)] * 4
    assert boards.notes(alone, False, "toy") == ["Mean of 2: fever, scifact."]
    said = "Assumed (not specified in the model files or the catalogue): toy: a is b."
    assert boards.notes(alone.assign(assumed="toy: a is b"), False, "toy") == ["Mean of 2: fever, scifact.", said]


def test_what_differs_from_the_baseline_is_marked_whichever_comes_first_in_a_pair() -> None:
    marks = significance_marks(COMPARISON, "NDCG@10", "contriever")
    assert marks == {("toy", "fever"): "▲", ("last", "fever"): "▼", ("last", "scifact"): "▲"}
    marked = [row[2:] for row in seen(boards.scores_table(SUMMARY, "NDCG@10", marks))]
    assert marked == [["0.7500▲*", "0.5000*"], ["0.2500", "0.5000*"], ["0.0000▼", "0.2500▲"]]
    assert "the baseline, contriever (" in boards.notes(SUMMARY, bool(marks), "contriever")[1]
    assert significance_marks(COMPARISON, "Recall@100", "contriever") == {}
    assert significance_marks(COMPARISON.iloc[:0], "NDCG@10", "contriever") == {}
    recall = COMPARISON.assign(measure="Recall@100", difference=-COMPARISON["difference"])
    both = pd.concat([COMPARISON, recall], ignore_index=True)
    ndcg, other = (significance_marks(both, measure, "contriever") for measure in ("NDCG@10", "Recall@100"))
    assert ndcg == marks
    assert {key: "▲▼".replace(mark, "") for key, mark in other.items()} == marks


def test_a_score_of_a_run_with_fewer_documents_than_the_cutoff_is_marked_with_their_number() -> None:
    few = SUMMARY.assign(
        most_documents=[None] * 3 + [5, None, 5] + [None, 50, 50], truncated_share=[None] * 5 + [0.5] + [None] * 3
    )
    rows = {row[0]: row[1:] for row in seen(boards.scores_table(few, "NDCG@10"))}
    assert rows["toy"] == ["0.6250* ‡50% ¶5", "0.7500* ¶5", "0.5000*"]
    assert rows["last"] == ["0.1250", "0.0000", "0.2500"]
    said = [each for each in boards.notes(few, False, "toy") if each.startswith("¶")]
    assert len(said) == 1
    assert "number of documents per query in this run, fewer than the cutoff" in said[0]
    assert not any("¶" in each for each in boards.notes(SUMMARY, False, "toy"))
    assert r"\textbf{0.7500} \P{}5" in as_latex(boards.scores_table(few, "NDCG@10"))


def test_published_scores_have_a_table_of_their_own_with_their_sources() -> None:
    (table,) = published(results_of(summary=SUMMARY))
    assert [column.label for column in table.columns] == ["System", "fever", "scifact"]
    assert seen(table) == [["contriever", "0.2000\n0.2000\n0.2500a", "0.6493\n0.5000\n0.5000b"]]
    assert [cell.value for cell in table.rows[0][1:]] == [0.0, pytest.approx(-0.1493)]
    assert ["Izacard" in table.notes[0], "Pyserini" in table.notes[1]] == [True, True]
    assert list(published(results_of(summary=SUMMARY[SUMMARY["system"] == "toy"]))) == []
    assert list(published(results_of(summary=SUMMARY.drop(columns="published_NDCG@10")))) == []


def test_means_by_task_and_domain_say_what_they_are_over() -> None:
    rows = [("s", name, value) for name, value in (("fever", 0.5), ("climate-fever", 0.25), ("scifact", 0.0), ("mine", 1.0))]
    summary = pd.DataFrame(rows, columns=["system", "dataset", "NDCG@10"]).assign(split="test")
    task, domain = (next(of(results_of(summary=summary))) for of in (boards.tasks, boards.domains))
    assert [column.label for column in task.columns] == ["System", "Fact Checking"]
    assert seen(task) == [["s", "0.2500"]]
    assert task.notes == ["Fact Checking: fever, climate-fever, scifact."]
    assert [column.label for column in domain.columns] == ["System", "Wikipedia", "Scientific"]
    assert seen(domain) == [["s", "0.3750", "0.0000"]]
    assert domain.notes == ["Wikipedia: fever, climate-fever.", "Scientific: scifact."]
    for datasets in (["scifact"], ["scifact", "nfcorpus"], ["mine", "yours"]):  # groups of one dataset each
        alone = pd.DataFrame({"system": "s", "dataset": datasets, "split": "test", "NDCG@10": 0.5})
        assert [*boards.tasks(results_of(summary=alone)), *boards.domains(results_of(summary=alone))] == []


def test_a_score_on_training_data_is_marked_and_unknown_training_data_are_named() -> None:
    trained = ["train", "no", "1 of 2", "no", "no", "0 of 2", *["not stated"] * 3]
    summary = SUMMARY.assign(trained_on=trained)
    texts = {row[0].text: [cell.text + cell.note for cell in row[1:]] for row in boards.scores_table(summary, "NDCG@10").rows}
    assert texts["contriever"] == ["0.3750", "0.2500†", "0.5000"]
    assert "†" not in "".join(texts["toy"] + texts["last"])
    said = boards.notes(summary, False, "toy")
    assert [line for line in said if line.startswith("†")]
    assert "Training data unknown, so no mean is known to be zero-shot: last." in said


def test_the_first_column_of_a_leaderboard_has_a_table_of_its_interval_and_ranks() -> None:
    kinds, systems = ("queries", "datasets and queries"), ("contriever", "toy", "last")
    rows = list(product(DATASETS, ("NDCG@10", "Recall@100"), kinds, systems))
    numbers = {"low": 0.25, "high": 0.5, "rank_low": 1.0, "rank_high": 2.0, "first": 0.75, "groups": "a b", "detectable": 0.125}
    uncertainty = pd.DataFrame(rows, columns=["dataset", "measure", "resampled", "system"]).assign(**numbers)
    for name, values in (("mean", (0.5, 0.625, 0.125)), ("rank", (2.0, 1.0, 3.0))):
        uncertainty[name] = uncertainty["system"].map(dict(zip(systems, values, strict=True)))
    uncertainty.loc[uncertainty["resampled"] != "queries", ["low", "first"]] = 0.0

    def ranks(of: pd.DataFrame) -> Table:
        (table,) = registered("table")["ranks"](results_of(summary=SUMMARY, uncertainty=of, baseline="contriever"))
        return table

    table = ranks(uncertainty)
    first = ["System", "mean of 2", "Mean and interval", "95 %"]
    assert [column.label for column in table.columns] == [*first, "Rank", "P(best)", "Group"]
    assert [cell.text for cell in table.rows[0]] == ["toy", "0.6250", "", "0.2500–0.5000", "1–2", "0.75", "a b"]
    assert table.scale == Scale(pytest.approx(0.1), pytest.approx(0.7), 0.1, 0.5)
    assert table.rows[0][2].span == Span(pytest.approx(25), pytest.approx(87.5), pytest.approx(66.67), filled=True)
    assert [row[0].text for row in table.rows] == ["toy", "contriever", "last"]
    shared = ranks(uncertainty.assign(rank_low=2.5, rank_high=2.5, low=float("nan")))
    assert [cell.text for cell in shared.rows[0][3:5]] == ["unknown", "2.5"]  # equal systems have no rank of their own
    alone = ranks(uncertainty[uncertainty["system"] == "toy"])
    assert [column.label for column in alone.columns] == first
    untested = results_of(summary=SUMMARY, uncertainty=uncertainty, main_measures=["MAP@100"])
    assert list(registered("table")["ranks"](untested)) == []
    power = "Minimum detectable difference in NDCG@10 (80 % power, a single test at level 0.05, median of all pairs): "
    (said,) = [line for line in boards.notes(SUMMARY, False, "toy", uncertainty) if line.startswith(power)]
    assert said.startswith(f"{power}fever 0.1250, scifact 0.1250")
    # The detectable difference of one test, beside marks that are corrected for all.
    assert said.endswith("Marks and letters are corrected for the number of tests, so they need larger ones.")
    (every,) = registered("table")["uncertainty"](results_of(uncertainty=uncertainty))
    assert len(every.rows) == len(rows)
    assert seen(every)[0] == [
        *("fever", "NDCG@10", "queries", "contriever", "0.5000", "0.2500–0.5000", "2", "1–2", "0.750", "a b", "0.1250")
    ]
