"""Figure 3 of the BEIR paper: the datasets on which each system beats or loses to the baseline, and how surely.

``against-baseline.csv`` has a row a system, ``here`` and in the values that the paper ``printed``: ``source``, ``system``,
``baseline``, ``better``, ``worse``, ``equal``, of these ``surely_better`` and ``surely_worse``, and ``datasets``, the names of
those that are counted; in-domain ones are left out. "Surely" is p < 0.05 of the paired randomisation test in
``significance.csv``, after Holm's correction for all of its tests; the paper prints nothing to compute it from.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from beirflow.files.csv_files import write_csv
from beirflow.paper.facts import BM25, PaperFacts, load_facts
from beirflow.paper.scores import Scores, printed_scores, read_scores
from beirflow.report.leaderboard import HIGHER, LOWER, Marks, significance_marks
from beirflow.report.named_tables import read_named_csv

COLUMNS = ("source", "system", "baseline", "better", "worse", "equal", "surely_better", "surely_worse", "datasets")


def write_against_baseline(*, means_paths: Sequence[str], comparison_path: str, baseline: str, table_path: str) -> None:
    """Write the counts.

    Args:
        means_paths: The ``metrics`` JSON of every system on every dataset.
        comparison_path: ``significance.csv``.
        baseline: System that the others are compared with.
        table_path: CSV to write, as this module says.

    Raises:
        DataError: A file was changed after it was written, or belongs elsewhere.
    """
    facts, comparison = load_facts(), read_named_csv(comparison_path)
    measure = "NDCG@10" if comparison.empty else str(comparison["measure"].iloc[0])
    marks = significance_marks(comparison, measure, baseline)
    write_csv(against_baseline(read_scores(means_paths, measure, facts), marks, baseline, facts), table_path)


def against_baseline(ours: Scores, marks: Marks, baseline: str, facts: PaperFacts) -> pd.DataFrame:
    """The counts.

    Args:
        ours: The scores that are here.
        marks: What is significantly higher or lower than the baseline, by system and dataset.
        baseline: System that the others are compared with.
        facts: What the paper prints.

    Returns:
        As this module says.
    """
    printed = printed_scores(facts)
    rows = [_row(ours, system, baseline) | _sure(ours, marks, system, baseline) for system in ours.systems if system != baseline]
    said = [
        _row(printed, system, BM25) | {"source": "printed", "system": facts.label(system), "baseline": facts.label(BM25)}
        for system in printed.systems
        if system != BM25
    ]
    return pd.DataFrame([*rows, *said], columns=list(COLUMNS))


def _row(scores: Scores, system: str, baseline: str) -> dict[str, Any]:
    names = scores.common(system, baseline)
    better, worse = len(scores.above(system, baseline)), len(scores.above(baseline, system))
    counts = {"better": better, "worse": worse, "equal": len(names) - better - worse}
    return {"source": "here", "system": system, "baseline": baseline, **counts, "datasets": ", ".join(names)}


def _sure(scores: Scores, marks: Marks, system: str, baseline: str) -> dict[str, int]:
    found = [marks.get((system, name)) for name in scores.common(system, baseline)]
    return {"surely_better": found.count(HIGHER), "surely_worse": found.count(LOWER)}
