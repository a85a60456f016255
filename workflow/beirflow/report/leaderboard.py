"""The leaderboard: systems as rows, means first, then every dataset; and the published scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from beirflow.catalogue.catalogue import Catalogue, load_catalogue
from beirflow.evaluation.paired_tests import against
from beirflow.evaluation.summary import BETWEEN, NOT_STATED, NOT_TRAINED, TRAINED_ON, distinct
from beirflow.files.records import ASSUMED
from beirflow.report.pages import HEATS, Cell, Column, Table, number
from beirflow.report.tables import MOST_FLAT, Sources
from beirflow.report.uncertainty_tables import uncertainty_notes, with_ranks

SYSTEM = Column("System", number=False, classes="stub")

SIGNIFICANT = 0.05
HIGHER, LOWER = "▲", "▼"
"""Marks of what differs from the baseline at that level, corrected for all comparisons with the baseline on a measure."""

KINDS = {"task": "Means by task", "domain": "Means by domain"}  # groups of datasets, and the titles of their tables
TRAINED = "†"  # behind a score on a dataset that the system was trained on
Marks = Mapping[tuple[str, str], str]  # by system and dataset, the difference to the baseline


def leaderboard(
    summary: pd.DataFrame, measure: str, marks: Marks | None = None, uncertainty: pd.DataFrame | None = None
) -> Table:
    """Return a table of systems × means and datasets by one measure of ``summary.csv``, the highest first mean first.

    With ``uncertainty.csv``, the first of these columns is followed by its interval and the ranks of the systems by it.
    """
    means, datasets = (_names(summary[summary["split"].isna() == average]) for average in (True, False))
    caption = f"{measure} of every system: means over datasets, then every dataset"
    labels = {name: name.partition(" (")[0] for name in means} | {name: name for name in datasets}
    table = _table(f"results-{measure}", measure, caption, _values(summary, measure), labels, marks or {}, len(means))
    trained = _trained(summary)
    rows = [
        [
            replace(cell, text=cell.text + TRAINED) if (row[0].text, column) in trained else cell
            for cell, column in zip(row, ("", *labels), strict=True)
        ]
        for row in table.rows
    ]
    table = replace(table, rows=rows)
    return table if uncertainty is None else with_ranks(table, uncertainty, measure, next(iter(labels)))


def _trained(summary: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the systems with the datasets that they were trained on."""
    if TRAINED_ON not in summary:
        return set()
    known = summary[summary["split"].notna() & ~summary[TRAINED_ON].isin((NOT_TRAINED, NOT_STATED))]
    return set(zip(known["system"].astype(str), known["dataset"].astype(str), strict=True))


def significance_marks(comparison: pd.DataFrame, measure: str, baseline: str) -> Marks:
    """Return the marks of ``significance.csv`` for a measure, by system and dataset; none if another measure was tested."""
    marks = {}
    for row in against(comparison, measure, baseline).query("p_holm < @SIGNIFICANT").to_dict("records"):
        other, sign = (row["system_b"], -1) if row["system_a"] == baseline else (row["system_a"], 1)
        marks[str(other), str(row["dataset"])] = HIGHER if sign * row["difference"] > 0 else LOWER
    return marks


def published_table(summary: pd.DataFrame, measure: str, sources: Sources) -> Table | None:
    """Return the published scores of a measure, and below each the difference to ours; None if nothing may be compared."""
    if f"published_{measure}" not in summary:
        return None
    compared = summary[summary[f"published_{measure}"].notna()]
    if compared.empty:
        return None
    datasets, rows = _names(compared), []
    for system, part in compared.groupby("system", sort=False):
        by_dataset: dict[str, Mapping[Any, Any]] = {row["dataset"]: row for row in part.to_dict("records")}
        rows.append([Cell(str(system)), *(_published(by_dataset.get(name), str(system), measure, sources) for name in datasets)])
    columns = [SYSTEM, *_columns(datasets)]
    caption = f"Published {measure}, and below it measured minus published, by which a column sorts"
    return Table(f"published-{measure}", f"{measure}: published scores", caption, columns, rows, close=True)


def _published(row: Mapping[Any, Any] | None, system: str, measure: str, sources: Sources) -> Cell:
    if row is None:
        return Cell("")
    reference, difference = number(row[f"published_{measure}"]), number(row[f"difference_{measure}"], "+.4f")
    note = sources.cite(system, row[f"source_{measure}"])
    return Cell(f"{reference.text}\n{difference.text}", difference.value, note=note)


def kind_tables(summary: pd.DataFrame, measure: str, catalogue: Catalogue | None = None) -> list[tuple[Table, list[str]]]:
    """Return the means by task and by domain, each with the datasets of its columns; none if every dataset would be alone."""
    kinds, tables = (catalogue or load_catalogue()).kinds, []
    values = _values(summary[summary["split"].notna()], measure)
    datasets = dict.fromkeys(dataset for _, dataset in values)
    for kind, title in KINDS.items():
        members: dict[str, list[str]] = {}
        for dataset in (dataset for dataset in datasets if dataset in kinds):
            members.setdefault(kinds[dataset][kind], []).append(dataset)
        if not any(1 < len(names) < len(datasets) for names in members.values()):
            continue
        means = {
            (system, group): sum(values[system, name] for name in names) / len(names)
            for system in dict.fromkeys(system for system, _ in values)
            for group, names in members.items()
        }
        caption = f"{measure}: the plain mean over the datasets of a {kind}"
        table = _table(f"by-{kind}", title, caption, means, {group: group for group in members}, {}, len(members))
        tables.append((table, [f"{group}: {', '.join(names)}." for group, names in members.items()]))
    return tables


def _names(summary: pd.DataFrame) -> list[str]:
    return _names_of(summary, "dataset")


def _names_of(table: pd.DataFrame, column: str) -> list[str]:
    return [str(name) for name in dict.fromkeys(table[column])]


def _values(summary: pd.DataFrame, measure: str) -> dict[tuple[str, str], float]:
    return {(str(row["system"]), str(row["dataset"])): row[measure] for row in summary.to_dict("records")}


def _table(
    name: str,
    title: str,
    caption: str,
    values: Mapping[tuple[str, str], float],
    labels: Mapping[str, str],
    marks: Marks,
    means: int,
) -> Table:
    """Return systems × columns, the first of which are means; if not all are, the highest in the first comes first."""
    systems = list(dict.fromkeys(system for system, _ in values))
    if ranked := means < len(labels):
        systems.sort(key=lambda system: -values.get((system, next(iter(labels))), float("-inf")))
    several, rows = len(systems) > 1, [[Cell(system)] for system in systems]
    for column in labels:
        of_column = [values.get((system, column), float("nan")) for system in systems]
        # Not-a-number differs from itself.
        known = [value for value in of_column if value == value]
        for row, system, value in zip(rows, systems, of_column, strict=True):
            plain = number(value)
            best = several and bool(known) and value == max(known)
            heat = _heat(value, known) if several and value == value else 0
            row.append(Cell(plain.text, plain.value, best, marks.get((system, column), ""), heat))
    columns = [SYSTEM, *_columns(labels.values(), means if ranked else 0)]
    return Table(name, title, caption, columns, rows, tall=True, close=True)


def _columns(labels: Iterable[str], first: int = 0) -> list[Column]:
    """Return columns of numbers, a line before number ``first``; their headers are upright if there are many."""
    names = list(labels)
    upright = " upright" if len(names) > MOST_FLAT else ""
    return [
        Column(label, classes=("number group" if first and i == first else "number") + upright) for i, label in enumerate(names)
    ]


def _heat(value: float, known: Sequence[float]) -> int:
    """Grade a value between 0, the worst of its column, and ``HEATS``, the best."""
    low, high = min(known), max(known)
    return round(HEATS * (value - low) / (high - low)) if high > low else 0


def notes(summary: pd.DataFrame, marked: bool, baseline: str, uncertainty: pd.DataFrame | None = None) -> list[str]:
    """Return the sentences that a reader of the leaderboard needs."""
    sentences = []
    if len(set(summary["system"])) > 1:
        sentences.append("Bold: the best of a column. Shade: how near to the best of its column.")
    if marked:
        tested = (
            f"paired randomisation test, p < {SIGNIFICANT} after Holm's correction for all comparisons with it on the measure"
        )
        sentences.append(f"{HIGHER} {LOWER}: significantly higher or lower than the baseline, {baseline} ({tested}).")
    means = _names(summary[summary["split"].isna()])
    if uncertainty is not None and len(uncertainty):
        sentences += uncertainty_notes(uncertainty)
    if _trained(summary):
        sentences.append(f"{TRAINED}: the system, or one that it is made from, was trained or tuned on this dataset.")
    if TRAINED_ON in summary and (unknown := _names_of(summary[summary[TRAINED_ON] == NOT_STATED], "system")):
        sentences.append(f"Training data are not stated, so no mean is known to be zero-shot for: {', '.join(unknown)}.")
    for label, _, members in (name.partition(" (") for name in means):
        sentences.append(f"{label[0].upper()}{label[1:]}: {members.removesuffix(')')}.")
    if assumed := distinct(summary.get(ASSUMED, ())):
        sentences.append(f"Assumed, since the files of a model do not say it: {BETWEEN.join(assumed)}.")
    return sentences
