"""Each finding of the paper holds in its own values, fails where results say the opposite, and names what is missing."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from beirflow.core.csv_files import read_named_csv
from beirflow.evaluation.paired_tests import HIGHER, LOWER
from beirflow.extensions.paper.evidence import FAILS, FEW_DATASETS, FEW_SYSTEMS, HOLDS, UNDECIDED, Conclusion, Evidence, Scores
from beirflow.extensions.paper.findings import TESTS, all_findings, claims, printed_evidence, write_claims
from beirflow.extensions.paper.printed_values import BM25, load_paper
from results_writer import write_metrics

PAPER = load_paper()
PRINTED = replace(
    printed_evidence(PAPER),
    overlap={("fever", "climate-fever"): 0.6, ("nq", "hotpotqa"): 0.4}
    | {(name, "scifact"): 0.2 for name in PAPER.zero_shot if name != "scifact"},
    grades={
        "trec-covid": {1: 100, 2: 150},
        "nfcorpus": {1: 10, 2: 9},
        "dbpedia-entity": {1: 5, 2: 5},
        "webis-touche2020": {1: 7, 2: 9},
    },
    without_text={"trec-covid": (41_800, 171_332)},
    similarities={
        name: {"difference": 0.153 if name == "trec-covid" else -0.01, "cosine_words": 20, "dot_words": 90}
        for name in PAPER.zero_shot
    },
)
"""Printed scores of the paper, and statements of its figures and text that no table has."""

BY_NUMBER = {finding.number: finding for finding in all_findings(PAPER)}


def conclusion_of(number: str, evidence: Evidence) -> Conclusion:
    """The conclusion before anything that is missing makes it undecided."""
    finding = BY_NUMBER[number]
    return finding.test(evidence, finding.systems, finding.datasets)


def changed(evidence: Evidence, values: Mapping[tuple[str, str], float]) -> Evidence:
    scores = evidence.scores
    return replace(evidence, scores=Scores({**scores.values, **values}, scores.measure, scores.in_domain))


def only(evidence: Evidence, systems: list[str] | None = None, datasets: list[str] | None = None) -> Evidence:
    scores = evidence.scores
    systems, datasets = systems or scores.systems, datasets or scores.datasets
    kept = {pair: value for pair, value in scores.values.items() if pair[0] in systems and pair[1] in datasets}
    return replace(evidence, scores=Scores(kept, scores.measure, scores.in_domain))


def raised(system: str, by: float, datasets: list[str] | None = None) -> Evidence:
    names = PAPER.zero_shot if datasets is None else datasets
    return changed(PRINTED, {(system, name): PRINTED.scores.values[system, name] + by for name in names})


def with_latency(system: str, **values: float) -> Evidence:
    return replace(PRINTED, latencies={**PRINTED.latencies, system: {**PRINTED.latencies[system], **values}})


def with_holes(system: str, **values: float) -> Evidence:
    return replace(PRINTED, holes={**PRINTED.holes, system: {**PRINTED.holes[system], **values}})


OPPOSITES = {
    "1a": raised(BM25, -0.2),
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
    "section 1": raised("bm25+ce", 0.9),
    "section 3.1": replace(PRINTED, overlap={pair: 1 - value for pair, value in PRINTED.overlap.items()}),
    "section 5.1a": with_latency("colbert", gpu_ms=10),
    "section 5.1b": with_latency("ance", gpu_ms=40),
    "section 5.1c": with_latency("sparta", cpu_ms=200),
    "section 5.1d": with_latency("genq", index_gb=4),
    "section 5.1e": with_latency("sparta", index_gb=30),
    "section 6a": with_holes("doct5query", hole=0.2),
    "section 6b": with_holes("ance", after=0.66),
    "figure 4a": replace(PRINTED, grades={"webis-touche2020": {1: 9, 2: 9}}),
    "figure 4b": replace(PRINTED, grades={name: {1: 5, 2: 6} for name in PRINTED.grades}),
    "appendix D, lengths": replace(
        PRINTED, similarities={**PRINTED.similarities, "nq": {"difference": 0, "cosine_words": 9, "dot_words": 9}}
    ),
    "appendix D, scores": replace(PRINTED, similarities={name: {"difference": 0.153} for name in PAPER.zero_shot}),
    "appendix D": replace(PRINTED, without_text={"trec-covid": (10_000, 171_332)}),
}


@pytest.mark.parametrize("number", list(BY_NUMBER))
def test_a_finding_holds_in_the_values_of_the_paper_and_fails_where_results_say_the_opposite(number: str) -> None:
    assert BY_NUMBER[number].judge(PRINTED).verdict == HOLDS
    assert BY_NUMBER[number].judge(OPPOSITES[number]).verdict == FAILS


OF_NO_SCORES = ("section 3", "section 5", "section 6", "figure", "appendix")
"""Beginnings of the numbers of findings that are about other numbers than scores."""


@pytest.mark.parametrize("number", list(BY_NUMBER))
def test_without_systems_or_datasets_nothing_is_said(number: str) -> None:
    nothing = Evidence(Scores({(BM25, "nq"): 0.3, (BM25, "msmarco"): 0.2}, in_domain=["msmarco"]), PAPER)
    found = BY_NUMBER[number].judge(nothing)
    assert found.verdict in (FEW_SYSTEMS, FEW_DATASETS)
    assert (found.numbers, found.sentence[-1]) == ({}, ".")
    if number == "6b" or number.startswith(OF_NO_SCORES):
        return
    found = BY_NUMBER[number].judge(only(PRINTED, datasets=["nq" if number in ("1a", "1b", "3b", "6a", "7") else "msmarco"]))
    assert found.verdict == FEW_DATASETS
    assert "no scores" in found.sentence
    # One dataset decides nothing that is about many.
    judged = BY_NUMBER[number].judge(only(PRINTED, datasets=["msmarco", "scifact"]))
    assert judged.verdict == HOLDS if number == "1b" else judged.verdict in (UNDECIDED, FEW_DATASETS)
    assert judged.coverage.startswith("1 of " if number not in ("3b", "6a", "7") else "0 of ")


def test_the_numbers_are_those_that_the_paper_prints() -> None:
    assert BY_NUMBER["4a"].judge(PRINTED).sentence == "Of 18 datasets, above BM25: BM25+CE on 16."
    assert BY_NUMBER["4b"].judge(PRINTED).numbers == {"colbert above": 9, "datasets": 18}
    assert BY_NUMBER["5"].judge(PRINTED).numbers == {"above ance": 14, "above dpr": 17, "datasets": 18}
    points = BY_NUMBER["6a"].judge(PRINTED).numbers
    assert points["trec-covid"] == pytest.approx(17.3)
    assert points["webis-touche2020"] == pytest.approx(7.8)
    # Numbers that do not follow from the table of the paper are said.
    said = {number: each.disagreement(each.judge(PRINTED).numbers, "its table gives") for number, each in BY_NUMBER.items()}
    assert {number: sentence for number, sentence in said.items() if sentence} == {
        "2b": " The paper says 11 (doct5query above), but its table gives 12.",
        "section 5.1b": " The paper says 30 (most, times), but its table gives 32.1.",
        "section 5.1c": " The paper says 25 (most, ms), but its table gives 30.",
        "6a": " The paper says 2 (datasets below ANCE), but its table gives 4.",
    }


def test_a_lead_of_7_points_is_lost_if_the_interval_over_other_datasets_excludes_it() -> None:
    assert BY_NUMBER["1a"].judge(PRINTED).numbers == {"lost": 7, "kept": 0, "systems": 8}
    ahead = only(PRINTED, systems=[BM25, "bm25+ce", "ance"])
    values = PRINTED.scores.values
    points = np.array([100 * (values["bm25+ce", name] - values[BM25, name]) for name in PAPER.zero_shot])
    assert points.mean() + stats.t.ppf(0.975, 17) * points.std(ddof=1) / 18**0.5 > 6.5  # not excluded
    assert (BY_NUMBER["1a"].judge(ahead).verdict, BY_NUMBER["1a"].judge(ahead).numbers["lost"]) == (UNDECIDED, 1)
    # Without a lead in domain none can be lost.
    judged = BY_NUMBER["1a"].judge(changed(PRINTED, {(system, "msmarco"): 0.25 for system in PAPER.systems}))
    assert (judged.verdict, judged.sentence) == (FEW_SYSTEMS, "No system leads BM25 by 7 points on MS MARCO.")


def test_a_count_is_over_what_the_systems_share() -> None:
    part = only(PRINTED, datasets=["msmarco", "nq", "scifact"])
    assert BY_NUMBER["2a"].judge(part).datasets == ["nq", "scifact"]
    found = conclusion_of("2a", only(part, systems=[BM25, "deepct"]))
    assert (found.verdict, found.numbers["deepct above"]) == (HOLDS, 0)
    assert found.sentence.endswith("SPARTA is missing.")
    # Lengths on other datasets count where those of the paper are missing.
    words = {name: {"tas-b": low, "ance": high} for name, low, high in (("a", 5.0, 9.0), ("b", 5.0, 4.0), ("c", 1.0, 4.0))}
    words["d"] = {"ance": 1.0}
    found = conclusion_of("6b", replace(PRINTED, median_words=words))
    assert (found.verdict, found.datasets) == (HOLDS, ["a", "b", "c"])


PUBLIC = [name for name in PAPER.zero_shot if name not in PAPER.not_public]
MARKS = {("bm25+ce", "nq"): HIGHER, ("bm25+ce", "arguana"): LOWER, ("bm25+ce", "scifact"): HIGHER}


@pytest.mark.parametrize(
    ("number", "evidence", "verdict", "coverage", "end"),
    [
        ("4a", only(PRINTED, datasets=PUBLIC), FAILS, "14 of 18", ""),  # 12 of 14 is below 16 of 18
        ("4a", only(PRINTED, datasets=PUBLIC[:-1]), UNDECIDED, "13 of 18", "For a verdict, SciFact is missing."),
        ("2a", only(PRINTED, systems=[BM25, "deepct"]), UNDECIDED, "18 of 18", "For a verdict, SPARTA is missing."),
        ("4a", replace(PRINTED, significant=MARKS), HOLDS, "18 of 18", "is significant for BM25+CE on 2 above and 1 below."),
        ("section 5.1a", replace(PRINTED, measured_on="scifact"), UNDECIDED, "0 of 1", "For a verdict, DBPedia is missing."),
    ],
)
def test_a_verdict_says_over_what_it_is_and_what_is_missing(
    number: str, evidence: Evidence, verdict: str, coverage: str, end: str
) -> None:
    judged = BY_NUMBER[number].judge(evidence)
    assert (judged.verdict, judged.coverage) == (verdict, coverage)
    assert judged.sentence.endswith(end)


def test_means_have_the_interval_of_their_difference_to_the_next_one() -> None:
    sentence = BY_NUMBER["5"].judge(PRINTED).sentence
    points = [100 * (PRINTED.scores.values["tas-b", name] - PRINTED.scores.values["genq", name]) for name in PAPER.zero_shot]
    low, high = stats.t.interval(0.95, 17, np.mean(points), stats.sem(points))
    assert low < 0 < high  # the paper's sentence holds, and 18 datasets do not tell these two apart
    assert f" points to GenQ, 95 % interval {low:+.1f} to {high:+.1f})." in sentence
    assert (
        "is that of DPR, 0.237 (-7.0 points to DeepCT, 95 % interval -15.6 to +1.6)." in BY_NUMBER["3c"].judge(PRINTED).sentence
    )
    assert BY_NUMBER["1c"].judge(PRINTED).numbers == {"below": 6, "surely below": 3, "others": 9}


def test_points_below_those_of_the_text_do_not_hold() -> None:
    lower = changed(PRINTED, {("deepct", "msmarco"): PRINTED.scores.values[BM25, "msmarco"] + 0.02})
    judged = BY_NUMBER["1b"].judge(lower)
    assert judged.verdict == FAILS
    assert BY_NUMBER["1b"].disagreement(judged.numbers, "here it is") == " The paper says 7 (least), but here it is 2."
    # A printed decimal is compared to half of its unit.
    close = changed(PRINTED, {("tas-b", "trec-covid"): 0.482})
    numbers = BY_NUMBER["6a"].judge(close).numbers
    assert "17.3 (trec-covid), but here it is 17.2" in BY_NUMBER["6a"].disagreement(numbers, "here it is")


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


def test_every_finding_of_the_catalogue_has_a_test_and_a_verdict_here_and_on_the_printed_values() -> None:
    assert list(TESTS) == list(PAPER.findings)
    table = claims(printed_evidence(PAPER), PAPER)
    assert list(table["finding"]) == [number for number in BY_NUMBER for _ in range(2)]
    verdicts = table.pivot_table(index="finding", columns="source", values="verdict", aggfunc="first")
    assert (verdicts["here"] == verdicts["printed"]).all()
    without_table = ["section 3.1", "figure 4a", "figure 4b", "appendix D", "appendix D, lengths", "appendix D, scores"]
    assert (verdicts["printed"].drop(without_table) == HOLDS).all()
    assert set(verdicts["printed"][without_table]) == {FEW_DATASETS, FEW_SYSTEMS}
    assert table["decided_by"].str.len().min() > 0
    said = table.set_index(["finding", "source"])["sentence"]
    assert "table gives 12" in said["2b", "printed"]
    assert "table gives" not in said["2b", "here"]


def test_latencies_on_another_corpus_and_holes_without_further_judgements_decide_nothing() -> None:
    judged = BY_NUMBER["section 5.1a"].judge(replace(PRINTED, measured_on="5,183 documents of scifact"))
    assert judged.sentence.startswith("Milliseconds of a query on a GPU, on 5,183 documents of scifact: BM25+CE 450 ms")
    # On a machine without a GPU, the times of the CPU are compared.
    slow = {"bm25+ce": {"cpu_ms": 6100.0}, "tas-b": {"cpu_ms": 125.0, "gpu_ms": math.nan}}
    judged = BY_NUMBER["section 5.1a"].judge(replace(PRINTED, latencies=slow))
    assert (judged.verdict, judged.numbers["least of these, ms"]) == (HOLDS, 6100)
    holes = {name: {**values, "after": math.nan} for name, values in PRINTED.holes.items()}
    judged = BY_NUMBER["section 6b"].judge(replace(PRINTED, holes=holes))
    assert (judged.verdict, judged.sentence) == (
        FEW_SYSTEMS,
        "There are no scores with further judgements of BM25, docT5query and ANCE.",
    )


def test_results_that_are_here_are_read_under_the_names_of_the_paper(tmp_path: Path) -> None:
    values = {"bm25": 0.4, "tas-b": 0.3, "ance": 0.5, "mine": 0.9}
    means = [write_metrics(tmp_path, system, "x", {"NDCG@10": [value]})[0] for system, value in values.items()]
    row = {"dataset": "x", "measure": "NDCG@10", "system_a": "ance", "system_b": "bm25", "difference": 0.1, "p": 0.01}
    covid, costs = {"dataset": "trec-covid", "ndcg": 0.6, "ndcg_extra": 0.7}, ("gpu_ms", "cpu_ms", "index_bytes")
    tables = {
        "significance": [row],
        "efficiency": [
            {"system": "BM25", "source": "as quoted elsewhere", "dataset": "y", "documents": 1, **dict.fromkeys(costs, 1)},
            {"system": "ance", "source": "here", "dataset": "x", "documents": 1000, "cpu_ms": 5.0, "index_bytes": 2e9},
            # Its time is no evidence, its index is.
            {"system": "bm25", "source": "here", "dataset": "x", "cpu_ms": 900.0, "busy": "busy", "index_bytes": 1e9},
        ],
        "bias": [covid | {"system": "ance", "hole": 0.5}, covid | {"system": "bm25", "hole": 0.25}],
        "overlap": [
            {"dataset_a": "nq", "dataset_b": "hotpotqa", "similarity": 0.5},
            {"dataset_a": "nq", "dataset_b": "scifact", "similarity": 0.25},
        ],
        "lengths-medians": [
            *(
                {"dataset": "x", "of": name, "median": each}
                for name, each in (("tas-b", 5), ("ance", 50), ("mine", 1), ("relevant", 7))
            ),
            *({"dataset": "nfcorpus", "of": f"grade {grade}", "median": 10 + grade} for grade in (-1, 0, 1, 2)),
        ],
        "similarities": [
            {"dataset": "x", "cosine": "a", "dot": "b", "difference": 0.1, "cosine_words": 5, "dot_words": 9},
            {"dataset": "x", "cosine": "c", "dot": "d", "difference": 0.2, "cosine_words": 7, "dot_words": 3},
        ],
        "table-1": [{"dataset": "trec-covid", "without_text": 42_100, "documents": 171_332}, {"dataset": "x", "documents": 3}],
    }
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    claims_path = str(tmp_path / "claims.csv")
    write_claims(
        means_paths=means, comparison_path=str(tmp_path / "significance.csv"), folder=str(tmp_path), claims_path=claims_path
    )
    here = read_named_csv(claims_path).query("source == 'here'").set_index("finding")
    assert here.loc["1c", "sentence"].startswith("In the mean of 1 dataset, BM25 is above 1 of 2 others: TAS-B; of 0, the 95 %")
    assert (here.loc["1c", "verdict"], here.loc["1c", "coverage"]) == (UNDECIDED, "0 of 18")
    assert "significant for ANCE on 1 above and 0 below and TAS-B on 0 above and 0 below" in here.loc["3a", "sentence"]
    assert (here.loc["6b", "verdict"], here.loc["6b", "datasets"]) == (UNDECIDED, "x")
    assert here.loc["6b", "numbers"].startswith("tas-b x = 5; ance x = 50")
    assert here.loc["section 5.1a", "sentence"] == "There are no latencies of BM25+CE or ColBERT."
    assert here.loc["section 5.1d", "sentence"].startswith("On 1,000 documents of x: BM25 1 GB and ANCE 2 GB. For a")
    assert here.loc["section 5.1c", "sentence"] == "There are no latencies of sparse and of other systems on a CPU."
    assert here.loc["appendix D, lengths", "numbers"] == "shorter = 1; datasets = 1"
    assert here.loc["section 6a", "verdict"] == UNDECIDED
    assert here.loc["section 6a", "sentence"].startswith("Hole@10 on TREC-COVID, in percent: BM25 25 and ANCE 50.")
    assert here.loc["section 6b", "sentence"] == "There are no scores with further judgements of docT5query."
    assert here.loc["section 3.1", "numbers"] == "across = 0.25; within = 0.5; most across = 0.25"
    assert here.loc["figure 4b", "sentence"].startswith("Median words by rising grade: 11, 12 on NFCorpus.")
    assert here.loc["appendix D", "verdict"] == HOLDS
    assert here.loc["2a", "sentence"] == "DeepCT and SPARTA are missing."
