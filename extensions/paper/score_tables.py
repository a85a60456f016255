"""Scores of the BEIR paper as tables.

They are table 2, figure 3, the counts of datasets on which systems beat the baseline, and the experiment of appendix D, two
similarities of the same vectors. ``docs/files.md`` describes ``table-2.csv``, ``against-baseline.csv`` and ``similarities.csv``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.core.csv_files import read_named_csv, write_csv
from beirflow.evaluation.paired_tests import HIGHER, LOWER, Marks, significance_marks
from beirflow.extensions.paper.evidence import NDCG, Scores, printed_scores, read_scores
from beirflow.extensions.paper.printed_values import BM25, Paper, load_paper

COUNTS = ("source", "system", "baseline", "better", "worse", "equal", "surely_better", "surely_worse", "datasets")
"""Columns of ``against-baseline.csv``."""

SIMILARITIES = ("dataset", "cosine", "dot", "cosine_ndcg", "dot_ndcg", "difference", "printed", "cosine_words", "dot_words")
"""Columns of ``similarities.csv``."""


def write_tables(*, means_paths: Sequence[str], folder: str, measures: Mapping[str, str]) -> None:
    """Write table 2 of each measure, as ``<name>.csv`` by its name, from the metrics of every system on every dataset."""
    paper = load_paper()
    for name, measure in measures.items():
        write_csv(table_2(read_scores(means_paths, measure, paper), paper), Path(folder, f"{name}.csv"))


def table_2(ours: Scores, paper: Paper) -> pd.DataFrame:
    """Return table 2 with our scores of one measure."""
    printed = printed_scores(paper) if ours.measure == NDCG else Scores({}, ours.measure, paper.in_domain)
    names = [*paper.datasets, *(name for name in ours.datasets if name not in paper.datasets)]
    return pd.DataFrame([*(_row(name, printed, ours, paper) for name in names), *_averages(printed, ours, paper)])


def _row(name: str, printed: Scores, ours: Scores, paper: Paper) -> dict[str, Any]:
    """Return the scores of all systems on one dataset, and the best of them."""
    row: dict[str, Any] = {"dataset": name}
    for prefix, scores, best in (("printed ", printed, "best_printed"), ("here ", ours, "best_here")):
        values = {
            paper.label(system) if scores is printed else system: scores.values.get((system, name)) for system in scores.systems
        }
        row |= {f"{prefix}{label}": value for label, value in values.items()}
        if values:
            highest = max((value for value in values.values() if value is not None), default=None)
            row[best] = ", ".join(label for label, value in values.items() if value is not None and value == highest)
    return row | {"note": paper.reason(name, ours.measure) if name in ours.datasets else paper.absence(name)}


def _averages(printed: Scores, ours: Scores, paper: Paper) -> list[dict[str, Any]]:
    """Return the rows of averages, and the average differences that the paper prints."""
    common = ours.common(*ours.systems) if ours.systems else []
    sets = {
        tuple(common): "all that are here, in-domain ones left out",
        tuple(name for name in paper.zero_shot if name in common): "those of the paper that are here",
        tuple(paper.zero_shot if printed.systems else ()): "the paper",
    }
    baseline = paper.standing(ours.systems).get(BM25)
    lacking = "No BM25 is among the systems here." if ours.systems and baseline is None else ""
    rows: list[dict[str, Any]] = []
    for names, label in reversed(sets.items()):
        if not names:
            continue
        over = f"mean of {len(names)} ({label}{'' if label == 'the paper' else ': ' + ', '.join(names)})"
        columns: list[tuple[str, Scores, str, str | None]]
        columns = [(f"printed {paper.label(system)}", printed, system, BM25) for system in printed.whole(names)]
        columns += [(f"here {system}", ours, system, baseline) for system in ours.whole(names)]
        means = {column: scores.mean(system, names) for column, scores, system, _ in columns}
        differences = {column: scores.difference(system, base, names) for column, scores, system, base in columns if base}
        rows += [
            {"dataset": over, **means, "note": ""},
            {"dataset": f"difference to BM25, {over}", **differences, "note": lacking},
        ]
    if printed.systems:
        as_printed = {f"printed {entry['label']}": entry.get("average_difference") for entry in paper.systems.values()}
        note = "As printed. It does not follow from the printed values by either definition; the rows above are computed."
        rows.append({"dataset": "difference to BM25, as printed", **as_printed, "note": note})
    return rows


def write_against_baseline(*, means_paths: Sequence[str], comparison_path: str, baseline: str, table_path: str) -> None:
    """Write the counts of datasets on which systems beat the baseline.

    Raise DataError if a file was changed after it was written, or belongs elsewhere.
    """
    paper, comparison = load_paper(), read_named_csv(comparison_path)
    measure = NDCG if comparison.empty else str(comparison["measure"].iloc[0])
    marks = significance_marks(comparison, measure, baseline)
    write_csv(against_baseline(read_scores(means_paths, measure, paper), marks, baseline, paper), table_path)


def against_baseline(ours: Scores, marks: Marks, baseline: str, paper: Paper) -> pd.DataFrame:
    """Return the counts for our scores, with the marks of significant differences, and for the printed scores."""
    printed = printed_scores(paper)
    rows = [
        _counts(ours, system, baseline) | _sure(ours, marks, system, baseline) for system in ours.systems if system != baseline
    ]
    rows += [
        _counts(printed, system, BM25) | {"source": "printed", "system": paper.label(system), "baseline": paper.label(BM25)}
        for system in printed.systems
        if system != BM25
    ]
    return pd.DataFrame(rows, columns=list(COUNTS))


def _counts(scores: Scores, system: str, baseline: str) -> dict[str, Any]:
    names = scores.common(system, baseline)
    better, worse = len(scores.above(system, baseline)), len(scores.above(baseline, system))
    counts = {"better": better, "worse": worse, "equal": len(names) - better - worse}
    return {"source": "here", "system": system, "baseline": baseline, **counts, "datasets": ", ".join(names)}


def _sure(scores: Scores, marks: Mapping[tuple[str, str], str], system: str, baseline: str) -> dict[str, int]:
    differences = [marks.get((system, name)) for name in scores.common(system, baseline)]
    return {"surely_better": differences.count(HIGHER), "surely_worse": differences.count(LOWER)}


def compare_similarities(
    *, means_paths: Sequence[str], medians_path: str, pairs: Sequence[Sequence[str]], table_path: str
) -> None:
    """Write the table of ``pairs``, each the system with the cosine and the one with the dot product.

    Raise DataError if a file was changed after it was written, or belongs elsewhere.
    """
    paper, medians = load_paper(), read_named_csv(medians_path)
    scores, printed = read_scores(means_paths, NDCG, paper).values, paper.findings["appendix D, scores"]["numbers"]
    words = dict(zip(zip(medians["of"], medians["dataset"], strict=True), medians["median"], strict=True))
    rows = []
    for pair in pairs:
        for dataset in dict.fromkeys(name for system, name in scores if system in pair):
            (cosine, dot), lengths = ([of[system, dataset] for system in pair] for of in (scores, words))
            rows.append((dataset, *pair, cosine, dot, dot - cosine, printed.get(dataset, np.nan) / 100, *lengths))
    write_csv(pd.DataFrame(rows, columns=list(SIMILARITIES)), table_path)
