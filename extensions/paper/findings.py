"""The findings of the BEIR paper, tested on the results here and on its printed values: verdicts that know what is missing.

What the paper says, and what decides over it, is in ``catalogue/paper.yaml``, comparisons of systems in ``beir-2021.yaml``. A
test is a function from results to a sentence, its numbers and a verdict: ``score_findings.py`` has those of scores, and
``further_findings.py`` the others. A count is over the datasets on which all systems that it names have a score,
those that systems were trained on left out. ``docs/files.md`` describes ``claims.csv``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.csv_files import read_named_csv, write_csv
from beirflow.evaluation.paired_tests import significance_marks
from beirflow.extensions.paper import further_findings, score_findings
from beirflow.extensions.paper.efficiency import BUSY, GIGABYTE, HERE, OF_PAPER
from beirflow.extensions.paper.evidence import (
    FAILS,
    HOLDS,
    NDCG,
    UNDECIDED,
    Conclusion,
    Evidence,
    Names,
    NotEnoughError,
    is_or_are,
    printed_scores,
    read_scores,
)
from beirflow.extensions.paper.printed_values import BM25, STUDIED, Paper, load_paper
from beirflow.extensions.paper.registry import CLAIMED_FROM
from beirflow.report.pages import listed

COLUMNS = ("finding", "says", "source", "verdict", "sentence", "coverage", "decided_by", "numbers", "datasets")

GRADE = "grade "  # before a grade, among those whose lengths are counted

Test = Callable[[Evidence, Names, Names], Conclusion]
"""A test of results by the systems and datasets that a finding is about; it raises NotEnoughError where it cannot be made."""

TESTS: Mapping[str, Test] = {
    "section 1": score_findings.best_everywhere,
    "section 3.1": further_findings.low_overlap,
    "1a": score_findings.in_domain_leads,
    "1b": score_findings.bm25_in_domain,
    "1c": score_findings.bm25_elsewhere,
    "2a": score_findings.above_bm25("2a"),
    "2b": score_findings.above_bm25("2b"),
    "3a": score_findings.above_bm25("3a"),
    "3b": score_findings.dense_shifted,
    "3c": score_findings.dpr_worst,
    "4a": score_findings.above_bm25("4a"),
    "4b": score_findings.above_bm25("4b"),
    "5": score_findings.strong_training,
    "6a": score_findings.below_ance,
    "6b": further_findings.short_documents,
    "7": score_findings.adaptation,
    "section 5.1a": further_findings.cost_of_quality,
    "section 5.1b": further_findings.fast_dense,
    "section 5.1c": further_findings.fast_sparse,
    "section 5.1d": further_findings.small_indexes,
    "section 5.1e": further_findings.large_indexes,
    "section 6a": further_findings.fewer_lexical_holes,
    "section 6b": further_findings.biased_pool,
    "figure 4a": further_findings.longer_arguments,
    "figure 4b": further_findings.lengths_of_grades,
    "appendix D, lengths": further_findings.cosine_shorter,
    "appendix D, scores": further_findings.dot_product_mixed,
    "appendix D": further_findings.titles_alone,
}
"""By number of a finding in ``paper.yaml``, its test."""


@dataclass(frozen=True)
class Finding:
    """A finding of the paper; the keys of ``paper.yaml`` are described in its schema."""

    number: str
    test: Test
    says: str
    decided_by: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    systems: Names = ()
    datasets: Names = ()

    def judge(self, evidence: Evidence) -> Conclusion:
        """Return the conclusion with its coverage, undecided where what the sentence is about is missing."""
        paper = evidence.paper
        try:
            conclusion = self.test(evidence, self.systems, self.datasets)
        except NotEnoughError as lack:
            conclusion = lack.conclusion
        about = self.datasets or paper.zero_shot
        covered = [name for name in about if name in conclusion.datasets]
        coverage = f"{len(covered)} of {len(about)}"
        # A verdict must be possible without the datasets that are not public.
        needed = [name for name in about if self.datasets or name not in paper.not_public]
        lacking = [paper.label(name) for name in self.systems if name not in evidence.systems]
        lacking += [str(paper.datasets[name]["label"]) for name in needed if name not in covered]
        if conclusion.verdict not in (HOLDS, FAILS) or not lacking:
            return replace(conclusion, coverage=coverage)
        sentence = f"{conclusion.sentence} For a verdict, {listed(lacking)} {is_or_are(lacking)} missing."
        return replace(conclusion, verdict=UNDECIDED, sentence=sentence, coverage=coverage)

    def disagreement(self, computed: Mapping[str, float], origin: str) -> str:
        """Return a sentence on the printed numbers that differ by over half a unit of their last digit from computed ones."""
        apart = [
            f"{printed:g} ({name}), but {origin} {computed[name]:.3g}"
            for name, printed in self.numbers.items()
            if name in computed and abs(computed[name] - printed) > (0.5 if printed == round(printed) else 0.05) + 1e-9
        ]
        return f" The paper says {listed(apart)}." if apart else ""


def all_findings(paper: Paper) -> list[Finding]:
    """Return the findings, in the order of the paper."""
    return [Finding(number, TESTS[number], **finding) for number, finding in paper.findings.items()]


def write_claims(*, means_paths: Sequence[str], comparison_path: str, folder: str, claims_path: str) -> None:
    """Write the verdicts from metrics, significance, and the other tables of the paper in a folder."""
    paper = load_paper()
    scores = read_scores(means_paths, NDCG, paper)
    names = paper.standing(scores.systems)
    ours = {system: name for name, system in names.items()}
    marks = significance_marks(read_named_csv(comparison_path), NDCG, names.get(BM25, ""))
    significant = {(ours[system], dataset): mark for (system, dataset), mark in marks.items() if system in ours}
    here = Evidence(scores.named(names), paper, significant=significant, **_of_tables(folder, ours))
    write_csv(claims(here, paper), claims_path)


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
    if "busy" in measured:  # whose times are no evidence
        measured = measured.assign(**{key: measured[key].where(measured["busy"] != BUSY) for key in ("gpu_ms", "cpu_ms")})
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


def printed_evidence(paper: Paper) -> Evidence:
    """Return what the paper prints."""
    return Evidence(
        printed_scores(paper),
        paper,
        paper.median_words,
        latencies=paper.efficiency,
        measured_on=str(OF_PAPER["dataset"]),
        holes={name: entry["trec_covid"] for name, entry in paper.systems.items() if "trec_covid" in entry},
    )


def claims(here: Evidence, paper: Paper) -> pd.DataFrame:
    """Return the conclusions of every finding, from the results here and from the printed values."""
    printed = printed_evidence(paper)
    rows: list[dict[str, Any]] = []
    for finding in all_findings(paper):
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
