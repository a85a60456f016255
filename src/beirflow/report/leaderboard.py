"""Leaderboard: systems as rows, means first, then every dataset; the uncertainty of its numbers; and the published scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from beirflow.config.main_measure import TABULATED
from beirflow.core.records import ASSUMED
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.evaluation.paired_tests import HIGHER, LEVEL, LOWER, Marks, significance_marks
from beirflow.evaluation.summary import (
    BETWEEN,
    DEVIATION,
    NOT_AVERAGED,
    NOT_STATED,
    OWN_MEASURE,
    OWN_SCORE,
    SEEDS,
    TRAINED_ON,
    TRUNCATED,
    by_pair,
    distinct,
    ending_early,
    of_datasets,
    short_names,
    trained,
)
from beirflow.report.pages import HEATS, SYSTEM, Cell, Table, number, number_columns
from beirflow.report.registry import table
from beirflow.report.results import Results, main_measures
from beirflow.report.uncertainty import uncertainty_notes

ON_TRUST = "§"  # mark of a model with published results of others
TRUSTED = (
    f"{ON_TRUST}: results published by others in MTEB's layout, not verified: on the hub's copies of the data, and not tested,"
    " ranked or shaded here."
)
CUT = "‡"  # mark of a score with truncated documents, before their share
LEAST_CUT = 0.005  # minimum share that is shown
SHORT = "¶"  # mark of a run with fewer documents per query than the cutoff, before their number
ENDS = (
    f"{SHORT}: number of documents per query in this run, fewer than the cutoff of the measure. This alone may explain a low"
    " score, which is not tested. Of a mean, the smallest number of its datasets."
)
TRAINED = "†"  # mark of a score on a dataset that the system was trained on
NOTHING: Marks = MappingProxyType({})


@table("results")
def leaderboard(results: Results) -> Iterator[Table]:
    """Yield a table of systems × means and datasets by each main measure."""
    for measure in results.main_measures:
        marks = significance_marks(results.significance, measure, results.baseline)
        sentences = notes(results.summary, bool(marks), results.baseline, results.uncertainty, results.references)
        yield replace(scores_table(results.summary, measure, marks, results.references), notes=sentences)


@table("")
def recall(results: Results) -> Iterator[Table]:
    """Yield the leaderboard by the second measure with tables, if that is not the main one."""
    return (board for board in leaderboard(results) if board.title == TABULATED[1] != results.main_measure)


def scores_table(summary: pd.DataFrame, measure: str, marks: Marks = NOTHING, references: pd.DataFrame | None = None) -> Table:
    """Return a table of systems × means and datasets by one measure of ``summary.csv``, sorted by the first mean, descending.

    The rows of ``references``, the content of ``references.csv``, are at the end.
    """
    means, datasets = (_names(summary[summary["split"].isna() == average]) for average in (True, False))
    caption = f"{measure} by system and dataset{', means first' if means else ''}"
    labels = short_names([*means, *datasets])
    on_training, cut = trained(summary), _cut(summary)
    ends = {key: f"{SHORT}{most}" for key, most in ending_early(summary, measure).items()}
    spread = {key: f"± {value:.4f}" for key, value in by_pair(summary, DEVIATION + measure).items()}
    below = {key: " ".join(of[key] for of in (spread, cut, ends) if key in of) for key in {*spread, *cut, *ends}}
    signs = {key: (TRAINED if key in on_training else "") + marks.get(key, "") for key in {*on_training, *marks}}
    board = _table(measure, caption, _values(summary, measure), labels, len(means), signs, below)
    of_others = [] if references is None or measure not in references else _references(references, measure, list(labels))
    return replace(board, rows=[*board.rows, *of_others])


def _references(references: pd.DataFrame, measure: str, labels: Sequence[str]) -> list[list[Cell]]:
    """Return the rows of others from ``references.csv``; ``labels`` are the means and datasets of the columns."""
    groups = load_catalogue().averages([label for label in labels if "mean of " not in label])
    rows = []
    for (model, revision), part in references.groupby(["model", "revision"], sort=False):
        values = dict(zip(part["dataset"], part[measure], strict=True))
        # No rank, mark or shade, since these scores are not known to be comparable.
        cells = [Cell(f"{model} at {str(revision)[:10]} {ON_TRUST}")]
        for label in labels:
            members = groups.get(
                label, label.partition(" (")[2].removesuffix(")").split(", ") if "mean of " in label else [label]
            )
            cells.append(number(sum(values.get(member, float("nan")) for member in members) / len(members)))
        rows.append(cells)
    return rows


@table("results")
def own_measures(results: Results) -> Iterator[Table]:
    """Yield systems × means and datasets, each by the measure of the dataset's authors; none if that is the main one for all."""
    summary, measure = results.summary, results.main_measure
    if OWN_MEASURE not in summary:
        return
    rows = [row for row in summary.to_dict("records") if not str(row[OWN_MEASURE]).startswith(NOT_AVERAGED)]
    own = {str(row["dataset"]): row[OWN_MEASURE] if isinstance(row[OWN_MEASURE], str) else measure for row in rows}
    values = {(str(r["system"]), str(r["dataset"])): r[OWN_SCORE if isinstance(r[OWN_MEASURE], str) else measure] for r in rows}
    means = {str(row["dataset"]) for row in rows if not isinstance(row["split"], str)}
    names = sorted(own, key=lambda name: name not in means)
    labels = {name: f"{name.partition(' (')[0] if name in means else name}: {own[name]}" for name in names}
    yield _table("Measures of the authors", "Every dataset by the main measure of its authors", values, labels, len(means))


def _cut(summary: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the share of truncated documents by system and dataset."""
    return {key: f"{CUT}{share:.0%}" for key, share in by_pair(summary, TRUNCATED).items() if share >= LEAST_CUT}


@table("results")
def tasks(results: Results) -> Iterator[Table]:
    """Yield the means by task, with the datasets of each column; none if every dataset would be alone."""
    return _by_kind(results, "task")


@table("results")
def domains(results: Results) -> Iterator[Table]:
    """Yield the means by domain, likewise."""
    return _by_kind(results, "domain")


def _by_kind(results: Results, kind: str) -> Iterator[Table]:
    kinds, measure, members = load_catalogue().kinds, results.main_measure, dict[str, list[str]]()
    values = _values(results.summary[results.summary["split"].notna()], measure)
    datasets = dict.fromkeys(dataset for _, dataset in values)
    for dataset in (dataset for dataset in datasets if dataset in kinds):
        members.setdefault(kinds[dataset][kind], []).append(dataset)
    if any(1 < len(names) < len(datasets) for names in members.values()):
        means = {
            (system, group): sum(values[system, name] for name in names) / len(names)
            for system in dict.fromkeys(system for system, _ in values)
            for group, names in members.items()
        }
        caption = f"{measure}: the plain mean over the datasets of a {kind}"
        board = _table(f"Means by {kind}", caption, means, {group: group for group in members}, len(members))
        yield replace(board, notes=[f"{group}: {', '.join(names)}." for group, names in members.items()])


def _names(table: pd.DataFrame, column: str = "dataset") -> list[str]:
    return [str(name) for name in dict.fromkeys(table[column])]


def _values(summary: pd.DataFrame, measure: str) -> dict[Any, float]:
    return summary.set_index(["system", "dataset"])[measure].to_dict()


def _table(
    title: str,
    caption: str,
    values: Mapping[tuple[str, str], float],
    labels: Mapping[str, str],
    means: int,
    marks: Marks = NOTHING,
    below: Marks = NOTHING,
) -> Table:
    """Return systems × columns, of which the first are means; unless all are, sorted by the first column, descending.

    ``marks`` are superscripts of numbers, ``below`` has their second lines.
    """
    systems = list(dict.fromkeys(system for system, _ in values))
    if ranked := means < len(labels):
        systems.sort(key=lambda system: -values.get((system, next(iter(labels))), float("-inf")))
    several, rows = len(systems) > 1, [[Cell(system)] for system in systems]
    for column in labels:
        of_column = [values.get((system, column), float("nan")) for system in systems]
        # Not-a-number differs from itself.
        known = [value for value in of_column if value == value]
        for row, system, value in zip(rows, systems, of_column, strict=True):
            plain, key = number(value), (system, column)
            best = several and bool(known) and value == max(known)
            heat = _heat(value, known) if several and value == value else 0
            row.append(Cell(plain.text, plain.value, best, marks.get(key, ""), heat, below.get(key, "")))
    columns = [SYSTEM, *number_columns(labels.values(), means if ranked else 0)]
    return Table("", title, caption, columns, rows, tall=True, close=True)


def _heat(value: float, known: Sequence[float]) -> int:
    """Return the shade of a value, from 0 for the worst of its column to ``HEATS`` for the best."""
    low, high = min(known), max(known)
    return round(HEATS * (value - low) / (high - low)) if high > low else 0


def notes(
    summary: pd.DataFrame,
    marked: bool,
    baseline: str,
    uncertainty: pd.DataFrame | None = None,
    references: pd.DataFrame | None = None,
) -> list[str]:
    """Return the notes of a leaderboard."""
    tested = (
        f"paired randomisation test, for means the t-test; p < {LEVEL} after Holm's correction for all comparisons"
        " with it on the measure, for means those of each mean"
    )
    ends = any(ending_early(summary, measure) for measure in main_measures(summary))
    signs = [
        (len(set(summary["system"])) > 1, "Bold: best of a column. Shade: position between worst and best of the column."),
        (marked, f"{HIGHER} {LOWER}: significantly higher or lower than the baseline, {baseline} ({tested})."),
        *((True, sentence) for sentence in uncertainty_notes(uncertainty)),
        (
            SEEDS in summary,
            "±: standard deviation over seeds, of a mean over them; such means have no interval, test or rank.",
        ),
        (trained(summary), f"{TRAINED}: the system, or one that it uses, was trained or tuned on this dataset."),
        (ends, ENDS),
        (_cut(summary), f"{CUT}: share of truncated documents, longer than the limit of the model."),
    ]
    sentences = [sentence for is_shown, sentence in signs if is_shown]
    apart = [each.removeprefix(NOT_AVERAGED) for each in distinct(summary.get(OWN_MEASURE, ())) if each.startswith(NOT_AVERAGED)]
    sentences += [f"The authors of these datasets use several measures, which are not averaged: {each}." for each in apart]
    if TRAINED_ON in summary and (unknown := _names(summary[summary[TRAINED_ON] == NOT_STATED], "system")):
        sentences.append(f"Training data unknown, so no mean is known to be zero-shot: {', '.join(unknown)}.")
    for label, _, members in (name.partition(" (") for name in _names(summary[summary["split"].isna()])):
        sentences.append(f"{label[0].upper()}{label[1:]}: {members.removesuffix(')')}.")
    if assumed := distinct(summary.get(ASSUMED, ())):
        sentences.append(f"Assumed (not specified in the model files or the catalogue): {BETWEEN.join(assumed)}.")
    sentences += [f"Judgements of {each}." for each in of_datasets(summary)]
    return [*sentences, TRUSTED] if references is not None else sentences
