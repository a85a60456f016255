"""Each finding of the paper holds in its own values, fails where results say the opposite, and names what is missing."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from beirflow.analysis.lengths import histogram
from beirflow.files.csv_files import read_named_csv
from beirflow.files.records import Job, write_record
from beirflow.paper.claims import OF_A_QUERY, claims, write_claims
from beirflow.paper.evidence import FAILS, FEW_DATASETS, FEW_SYSTEMS, HOLDS, UNDECIDED, Evidence, Scores, printed_scores
from beirflow.paper.facts import BM25, load_facts
from beirflow.paper.findings import FINDINGS
from beirflow.report.leaderboard import HIGHER, LOWER
from results_writer import write_metrics

FACTS = load_facts()
PRINTED = Evidence(printed_scores(FACTS), FACTS, FACTS.median_words, {"bm25+ce": 0.45, "colbert": 0.35, "tas-b": 0.014})
BY_NUMBER = {finding.number: finding for finding in FINDINGS}


def changed(evidence: Evidence, values: Mapping[tuple[str, str], float]) -> Evidence:
    scores = evidence.scores
    return replace(evidence, scores=Scores({**scores.values, **values}, scores.measure, scores.in_domain))


def only(evidence: Evidence, systems: list[str] | None = None, datasets: list[str] | None = None) -> Evidence:
    scores = evidence.scores
    systems, datasets = systems or scores.systems, datasets or scores.datasets
    kept = {pair: value for pair, value in scores.values.items() if pair[0] in systems and pair[1] in datasets}
    return replace(evidence, scores=Scores(kept, scores.measure, scores.in_domain))


def raised(system: str, by: float, datasets: list[str] | None = None) -> Evidence:
    names = FACTS.zero_shot if datasets is None else datasets
    return changed(PRINTED, {(system, name): PRINTED.scores.values[system, name] + by for name in names})


SAME_ORDER = {(system, "msmarco"): PRINTED.scores.mean(system, FACTS.zero_shot) for system in PRINTED.systems}
OPPOSITES = {
    "1a": changed(PRINTED, SAME_ORDER),
    "1b": changed(PRINTED, {("deepct", "msmarco"): 0.2}),
    "1c": raised(BM25, -0.2),
    "2a": raised("sparta", 0.2),
    "2b": raised("doct5query", -0.05),
    "3a": raised("tas-b", 0.3),
    "3b": changed(PRINTED, {("ance", "bioasq"): 0.47}),
    "3c": raised("dpr", 0.3),
    "4a": raised("bm25+ce", -0.05),
    "4b": raised("colbert", -0.05),
    "5": raised("ance", 0.05),
    "6a": changed(PRINTED, {("tas-b", "trec-covid"): 0.7}),
    "6b": replace(PRINTED, median_words={name: {"tas-b": 160, "ance": 10} for name in ("trec-covid", "webis-touche2020")}),
    "7": raised("genq", 0.3),
    "8": replace(PRINTED, seconds={"colbert": 0.01, "tas-b": 0.02}),
}


@pytest.mark.parametrize("number", list(BY_NUMBER))
def test_a_finding_holds_in_the_values_of_the_paper_and_fails_where_results_say_the_opposite(number: str) -> None:
    assert BY_NUMBER[number].judge(PRINTED).verdict == HOLDS
    assert BY_NUMBER[number].judge(OPPOSITES[number]).verdict == FAILS


@pytest.mark.parametrize("number", list(BY_NUMBER))
def test_without_systems_or_datasets_nothing_is_said(number: str) -> None:
    nothing = Evidence(Scores({(BM25, "nq"): 0.3, (BM25, "msmarco"): 0.2}, in_domain=["msmarco"]), FACTS)
    found = BY_NUMBER[number].test(nothing)
    assert (found.verdict, found.numbers, found.sentence[-1]) == (FEW_SYSTEMS, {}, ".")
    if number in ("6b", "8"):  # which are about no scores
        return
    found = BY_NUMBER[number].test(only(PRINTED, datasets=["nq" if number in ("1a", "1b", "3b", "6a", "7") else "msmarco"]))
    assert found.verdict == FEW_DATASETS
    assert "no scores" in found.sentence
    # One dataset decides nothing that is about many.
    judged = BY_NUMBER[number].judge(only(PRINTED, datasets=["msmarco", "scifact"]))
    assert judged.verdict == HOLDS if number == "1b" else judged.verdict in (UNDECIDED, FEW_DATASETS)
    assert judged.coverage.startswith("1 of " if number not in ("3b", "6a", "7") else "0 of ")


def test_the_numbers_are_those_that_the_paper_prints() -> None:
    assert BY_NUMBER["4a"].test(PRINTED).sentence == "Of 18 datasets, above BM25: BM25+CE on 16."
    assert BY_NUMBER["4b"].test(PRINTED).numbers == {"colbert above": 9, "datasets": 18}
    assert BY_NUMBER["5"].test(PRINTED).numbers == {"above ance": 14, "above dpr": 17, "datasets": 18}
    points = BY_NUMBER["6a"].test(PRINTED).numbers
    assert points["trec-covid"] == pytest.approx(17.3)
    assert points["webis-touche2020"] == pytest.approx(7.8)
    # Numbers that do not follow from the table of the paper are said.
    said = {number: each.disagreement(each.test(PRINTED).numbers, "its table gives") for number, each in BY_NUMBER.items()}
    assert {number: sentence for number, sentence in said.items() if sentence} == {
        "2b": " The paper says 11 (doct5query above), but its table gives 12.",
        "6a": " The paper says 2 (datasets below ANCE), but its table gives 4.",
    }


def test_the_interval_of_the_order_is_that_of_fieller_hartley_and_pearson() -> None:
    numbers = BY_NUMBER["1a"].test(PRINTED).numbers
    assert numbers["tau"] == pytest.approx(0.4494666)
    # The variance of atanh(tau) is 0.437 / (n - 4).
    reach = (np.arctanh(numbers["high"]) - np.arctanh(numbers["low"])) / 2
    assert reach == pytest.approx(1.959964 * np.sqrt(0.437 / 6))
    assert BY_NUMBER["1a"].test(only(PRINTED, systems=PRINTED.systems[:4])).verdict == FEW_SYSTEMS


def test_a_count_is_over_what_the_systems_share() -> None:
    part = only(PRINTED, datasets=["msmarco", "nq", "scifact"])
    assert BY_NUMBER["2a"].test(part).datasets == ["nq", "scifact"]
    found = BY_NUMBER["2a"].test(only(part, systems=[BM25, "deepct"]))
    assert (found.verdict, found.numbers["deepct above"]) == (HOLDS, 0)
    assert found.sentence.endswith("SPARTA is not here.")
    # Lengths on other datasets count where those of the paper are not here.
    words = {name: {"tas-b": low, "ance": high} for name, low, high in (("a", 5.0, 9.0), ("b", 5.0, 4.0), ("c", 1.0, 4.0))}
    words["d"] = {"ance": 1.0}
    found = BY_NUMBER["6b"].test(replace(PRINTED, median_words=words))
    assert (found.verdict, found.datasets) == (HOLDS, ["a", "b", "c"])


def test_public_datasets_decide_a_count_and_one_less_leaves_it_undecided() -> None:
    public = [name for name in FACTS.zero_shot if name not in FACTS.not_public]
    judged = BY_NUMBER["4a"].judge(only(PRINTED, datasets=public))
    assert (judged.verdict, judged.coverage) == (FAILS, "14 of 18")  # 12 of 14 is below 16 of 18
    judged = BY_NUMBER["4a"].judge(only(PRINTED, datasets=public[:-1]))
    assert (judged.verdict, judged.coverage) == (UNDECIDED, "13 of 18")
    assert judged.sentence.endswith("For a verdict, SciFact is missing.")


def test_a_system_that_the_finding_names_is_missing_and_a_wide_interval_decides_nothing() -> None:
    assert BY_NUMBER["1a"].test(only(PRINTED, systems=PRINTED.systems[:5])).verdict == UNDECIDED
    judged = BY_NUMBER["2a"].judge(only(PRINTED, systems=[BM25, "deepct"]))
    assert (judged.verdict, judged.coverage) == (UNDECIDED, "18 of 18")
    assert judged.sentence.endswith("For a verdict, SPARTA is missing.")


def test_points_below_those_of_the_text_do_not_hold() -> None:
    lower = changed(PRINTED, {("deepct", "msmarco"): PRINTED.scores.values[BM25, "msmarco"] + 0.02})
    judged = BY_NUMBER["1b"].judge(lower)
    assert judged.verdict == FAILS
    assert BY_NUMBER["1b"].disagreement(judged.numbers, "here it is") == " The paper says 7 (least), but here it is 2."
    # A printed decimal is compared to half of its unit.
    close = changed(PRINTED, {("tas-b", "trec-covid"): 0.482})
    numbers = BY_NUMBER["6a"].judge(close).numbers
    assert "17.3 (trec-covid), but here it is 17.2" in BY_NUMBER["6a"].disagreement(numbers, "here it is")


def test_counts_are_beside_those_that_are_significant() -> None:
    marks = {("bm25+ce", "nq"): HIGHER, ("bm25+ce", "arguana"): LOWER, ("bm25+ce", "scifact"): HIGHER}
    judged = BY_NUMBER["4a"].judge(replace(PRINTED, significant=marks))
    assert judged.sentence.endswith("The difference is significant for BM25+CE on 2 above and 1 below.")


SCORES = Scores({("a", "x"): 0.5, ("a", "y"): 0.4, ("a", "in"): 0.1, ("b", "x"): 0.5, ("b", "in"): 0.9}, in_domain=["in"])


def test_what_is_shared_leaves_the_training_data_out() -> None:
    assert SCORES.common("a") == ["x", "y"]
    assert SCORES.common("a", "b") == ["x"]
    assert SCORES.common("a", "nobody") == []
    # Equal scores are not higher.
    assert SCORES.above("a", "b") == []
    assert SCORES.above("b", "a", ["in"]) == ["in"]


def test_a_difference_is_a_share_of_the_mean_of_the_baseline() -> None:
    assert SCORES.difference("b", "a", ["in"]) == pytest.approx(0.9 / 0.1 - 1)
    assert math.isnan(SCORES.difference("b", "a", []))


def test_systems_are_seen_under_the_names_that_they_stand_for() -> None:
    assert SCORES.named({"BM25": "b", "none": "c"}).values == {("BM25", "x"): 0.5, ("BM25", "in"): 0.9}


def test_every_finding_has_a_verdict_here_and_on_the_printed_values() -> None:
    table = claims(Evidence(printed_scores(FACTS), FACTS, FACTS.median_words), FACTS)
    assert list(table["finding"]) == [finding.number for finding in FINDINGS for _ in range(2)]
    verdicts = table.pivot_table(index="finding", columns="source", values="verdict", aggfunc="first")
    assert (verdicts["here"] == verdicts["printed"]).all()
    assert (verdicts["printed"].drop("8") == HOLDS).all()
    assert verdicts.loc["8", "printed"] == FEW_SYSTEMS
    said = table.set_index(["finding", "source"])["sentence"]
    assert "table gives 12" in said["2b", "printed"]
    assert "table gives" not in said["2b", "here"]


def test_results_that_are_here_are_read_under_the_names_of_the_paper(tmp_path: Path) -> None:
    values = {"bm25": 0.4, "tas-b": 0.3, "ance": 0.5, "mine": 0.9}
    means = [write_metrics(tmp_path, system, "x", {"NDCG@10": [value]})[0] for system, value in values.items()]
    lengths = {"tas-b": [3, 5, 7], "ance": [30, 50, 70], "bm25": [9], "mine": [1]}
    for name in ("x-a", "x-b"):
        found = {"retrieved": {system: histogram(pd.array(words).to_numpy()) for system, words in lengths.items()}}
        write_record(tmp_path / f"{name}.json", Job(tmp_path), inputs={}, outputs={}, dataset=name, lengths=found)
    costs = [{"system": system, "dataset": "x", "queries": 10, **dict.fromkeys(OF_A_QUERY, 1.0)} for system in values]
    pd.DataFrame(costs).to_csv(tmp_path / "cost.csv", index=False)
    row = {"dataset": "x", "measure": "NDCG@10", "system_a": "ance", "system_b": "bm25", "difference": 0.1, "p": 0.01}
    pd.DataFrame([row]).to_csv(tmp_path / "significance.csv", index=False)
    names = {"costs_path": "cost.csv", "comparison_path": "significance.csv", "claims_path": "claims.csv"}
    write_claims(
        means_paths=means,
        inspection_paths=[str(tmp_path / f"{name}.json") for name in ("x-a", "x-b")],
        rows={"x": ["x-a", "x-b"]},
        **{key: str(tmp_path / name) for key, name in names.items()},
    )
    here = read_named_csv(str(tmp_path / "claims.csv")).query("source == 'here'").set_index("finding")
    assert here.loc["1c", "sentence"].startswith("In the mean of 1 dataset, BM25 is above 1 of 2 others: TAS-B. For a verdict,")
    assert (here.loc["1c", "verdict"], here.loc["1c", "coverage"]) == (UNDECIDED, "0 of 18")
    assert "significant for ANCE on 1 above and 0 below and TAS-B on 0 above and 0 below" in here.loc["3a", "sentence"]
    assert here.loc["6b", "verdict"] == UNDECIDED
    assert here.loc["6b", "datasets"] == "x"
    assert here.loc["8", "sentence"] == "There are no times of BM25+CE or ColBERT."
    assert here.loc["2a", "sentence"] == "DeepCT and SPARTA are not here."
    assert float(here.loc["6b", "numbers"].partition("tas-b x = ")[2].partition(";")[0]) == pytest.approx(5, abs=1)
