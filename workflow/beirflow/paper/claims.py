"""The findings of the BEIR paper, tested on the results here and on its printed values.

``claims.csv`` has two rows a finding, for the results ``here`` and for the ``printed`` values: ``finding`` (the number of the
paragraph in section 5, with a letter where it says several things), ``says``, ``source``, ``verdict`` (``holds``, ``does not
hold``, ``undecided``, ``not enough systems``, ``not enough datasets``), ``sentence``, ``coverage`` (``7 of 18`` datasets that the
finding is about), ``numbers`` and ``datasets``, what the counts and means are over. Where a number in the paper's text does not
follow from the results here or from the paper's table, the sentence says so.
:mod:`beirflow.paper.findings` has the rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from beirflow.analysis.lengths import median
from beirflow.files.csv_files import read_named_csv, write_csv
from beirflow.files.records import read_json
from beirflow.paper.evidence import NDCG, Evidence, printed_scores, read_scores
from beirflow.paper.facts import BM25, PaperFacts, load_facts
from beirflow.paper.findings import FINDINGS
from beirflow.report.leaderboard import significance_marks

COLUMNS = ("finding", "says", "source", "verdict", "sentence", "coverage", "numbers", "datasets")

OF_A_QUERY = ("queries_seconds", "search_seconds", "rerank_seconds")  # stages that every query goes through


def write_claims(
    *,
    means_paths: Sequence[str],
    inspection_paths: Sequence[str],
    costs_path: str,
    comparison_path: str,
    rows: Mapping[str, Sequence[str]],
    claims_path: str,
) -> None:
    """Write the verdicts from metrics, inspections, costs and significance; ``rows`` has the corpora of every dataset."""
    facts = load_facts()
    scores = read_scores(means_paths, NDCG, facts)
    inspections = {record["dataset"]: record["lengths"]["retrieved"] for record in map(read_json, inspection_paths)}
    names = facts.standing(scores.systems)
    words = {
        row: {name: median([inspections[corpus][ours] for corpus in corpora]) for name, ours in names.items()}
        for row, corpora in rows.items()
    }
    ours = {system: name for name, system in names.items()}
    marks = significance_marks(read_named_csv(comparison_path), NDCG, names.get(BM25, ""))
    significant = {(ours[system], dataset): mark for (system, dataset), mark in marks.items() if system in ours}
    here = Evidence(scores.named(names), facts, words, _seconds(read_named_csv(costs_path), names), significant)
    write_csv(claims(here, facts), claims_path)


def claims(here: Evidence, facts: PaperFacts) -> pd.DataFrame:
    """Return the conclusions of every finding, from the results here and from the printed values."""
    printed = Evidence(printed_scores(facts), facts, facts.median_words)
    rows: list[dict[str, Any]] = []
    for finding in FINDINGS:
        for source, evidence, origin in (("here", here, "here it is"), ("printed", printed, "its table gives")):
            conclusion = finding.judge(evidence)
            rows.append(
                {
                    "finding": finding.number,
                    "says": finding.says,
                    "source": source,
                    "verdict": conclusion.verdict,
                    "sentence": conclusion.sentence + finding.disagreement(conclusion.numbers, origin),
                    "coverage": conclusion.coverage,
                    "numbers": "; ".join(f"{name} = {value:.6g}" for name, value in conclusion.numbers.items()),
                    "datasets": ", ".join(conclusion.datasets),
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _seconds(costs: pd.DataFrame, names: Mapping[str, str]) -> dict[str, float]:
    """Return, by system of the paper, the seconds of jobs for a query of the system that stands for it."""
    seconds = {}
    for name, ours in names.items():
        part = costs[costs["system"] == ours]
        if part["queries"].sum():
            seconds[name] = float(part[list(OF_A_QUERY)].sum().sum() / part["queries"].sum())
    return seconds
