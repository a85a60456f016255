"""The findings of the BEIR paper, tested on the results here and on its printed values.

:mod:`beirflow.paper.findings` has the tests, ``docs/files.md`` describes ``claims.csv``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.files.csv_files import read_named_csv, write_csv
from beirflow.paper.efficiency import GIGABYTE, HERE, OF_PAPER
from beirflow.paper.evidence import NDCG, Evidence, printed_scores, read_scores
from beirflow.paper.facts import BM25, STUDIED, PaperFacts, load_facts
from beirflow.paper.findings import all_findings
from beirflow.report.leaderboard import significance_marks
from beirflow.report.registry import CLAIMED_FROM

COLUMNS = ("finding", "says", "source", "verdict", "sentence", "coverage", "decided_by", "numbers", "datasets")

GRADE = "grade "  # before a grade, among those whose lengths are counted


def write_claims(*, means_paths: Sequence[str], comparison_path: str, folder: str, claims_path: str) -> None:
    """Write the verdicts from metrics, significance, and the other tables of the paper in a folder."""
    facts = load_facts()
    scores = read_scores(means_paths, NDCG, facts)
    names = facts.standing(scores.systems)
    ours = {system: name for name, system in names.items()}
    marks = significance_marks(read_named_csv(comparison_path), NDCG, names.get(BM25, ""))
    significant = {(ours[system], dataset): mark for (system, dataset), mark in marks.items() if system in ours}
    here = Evidence(scores.named(names), facts, significant=significant, **_of_tables(folder, ours))
    write_csv(claims(here, facts), claims_path)


def _of_tables(folder: str, ours: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of evidence that other tables give; ``ours`` has the paper's systems by the ones that stand for them."""
    tables = (read_named_csv(str(Path(folder, f"{name}.csv"))) for name in CLAIMED_FROM)
    medians, bias, efficiency, statistics, overlap, pairs = tables
    words: dict[str, dict[str, float]] = {}
    grades: dict[str, dict[int, float]] = {}
    for row in medians.to_dict("records"):
        if row["of"] in ours:
            words.setdefault(row["dataset"], {})[ours[row["of"]]] = row["median"]
        elif str(row["of"]).startswith(GRADE) and int(row["of"].removeprefix(GRADE)) > 0:
            grades.setdefault(row["dataset"], {})[int(row["of"].removeprefix(GRADE))] = row["median"]
    measured = efficiency[efficiency["source"] == HERE]
    timed = measured[measured["system"].isin(ours)].to_dict("records")
    studied = bias[(bias["dataset"] == STUDIED) & bias["system"].isin(ours)].to_dict("records")
    counted = statistics[statistics["without_text"].notna()].to_dict("records")
    return {
        "median_words": words,
        "grades": grades,
        "latencies": {
            ours[row["system"]]: {"gpu_ms": row["gpu_ms"], "cpu_ms": row["cpu_ms"], "index_gb": row["index_bytes"] / GIGABYTE}
            for row in timed
        },
        "measured_on": _place(measured),
        "holes": {
            ours[row["system"]]: {"hole": row["hole"], "before": row["ndcg"], "after": row["ndcg_extra"]} for row in studied
        },
        "overlap": {(one, other): similarity for one, other, similarity in overlap.itertuples(index=False)},
        "similarities": {row["dataset"]: row for row in reversed(pairs.to_dict("records"))},  # of several pairs, the first
        "without_text": {row["dataset"]: (row["without_text"], row["documents"]) for row in counted},
    }


def _place(measured: pd.DataFrame) -> str:
    """Return the dataset on which latency was measured, by the paper's name if it is a million documents of DBPedia."""
    if measured.empty:
        return ""
    dataset, documents = str(measured["dataset"].iloc[0]), int(measured["documents"].iloc[0])
    of_paper = dataset.startswith(str(OF_PAPER["dataset"])) and documents == OF_PAPER["documents"]
    return str(OF_PAPER["dataset"]) if of_paper else f"{documents:,} documents of {dataset}"


def _printed(facts: PaperFacts) -> Evidence:
    """Return what the paper prints."""
    return Evidence(
        printed_scores(facts),
        facts,
        facts.median_words,
        latencies=facts.efficiency,
        measured_on=str(OF_PAPER["dataset"]),
        holes={name: entry["trec_covid"] for name, entry in facts.systems.items() if "trec_covid" in entry},
    )


def claims(here: Evidence, facts: PaperFacts) -> pd.DataFrame:
    """Return the conclusions of every finding, from the results here and from the printed values."""
    printed = _printed(facts)
    rows: list[dict[str, Any]] = []
    for finding in all_findings(facts):
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
                    "decided_by": finding.decided_by,
                    "numbers": "; ".join(f"{name} = {value:.6g}" for name, value in conclusion.numbers.items()),
                    "datasets": ", ".join(conclusion.datasets),
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))
