"""Leaderboard: systems as rows, means first, then every dataset; the uncertainty of its numbers; and the published scores."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from types import MappingProxyType
from typing import Any

import pandas as pd

from beirflow.core.records import ASSUMED
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.evaluation.paired_tests import LEVEL, against
from beirflow.evaluation.summary import (
    BETWEEN,
    DEVIATION,
    NOT_AVERAGED,
    NOT_STATED,
    NOT_TRAINED,
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
)
from beirflow.evaluation.uncertainty import FEWEST, QUERIES
from beirflow.report.pages import HEATS, Cell, Table, framed, number
from beirflow.report.tables import SYSTEM, Sources, main_measures, number_columns, with_short_names

HIGHER, LOWER = "▲", "▼"
"""Marks of significant differences to the baseline, corrected for all comparisons with it on a measure."""

KINDS = {"task": "Means by task", "domain": "Means by domain"}  # groups of datasets, and the titles of their tables
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
Marks = Mapping[tuple[str, str], str]  # marks by system and dataset
NOTHING: Marks = MappingProxyType({})


def leaderboard(summary: pd.DataFrame, measure: str, marks: Marks = NOTHING, references: pd.DataFrame | None = None) -> Table:
    """Return a table of systems × means and datasets by one measure of ``summary.csv``, sorted by the first mean, descending.

    The rows of ``references``, the content of ``references.csv``, are at the end.
    """
    means, datasets = (_names(summary[summary["split"].isna() == average]) for average in (True, False))
    caption = f"{measure} of every system: means over datasets, then every dataset"
    labels = short_names([*means, *datasets])
    trained, cut = _trained(summary), _cut(summary)
    cut |= {key: f"{cut.get(key, '')} {SHORT}{most}" for key, most in ending_early(summary, measure).items()}
    spread = by_pair(summary, DEVIATION + measure)
    suffixes = {
        key: (f" ± {spread[key]:.4f}" if key in spread else "") + (TRAINED if key in trained else "") + cut.get(key, "")
        for key in {*spread, *trained, *cut}
    }
    table = _table(f"results-{measure}", measure, caption, _values(summary, measure), labels, len(means), marks, suffixes)
    of_others = [] if references is None or measure not in references else _references(references, measure, list(labels))
    return replace(table, rows=[*table.rows, *of_others])


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


def own_leaderboard(summary: pd.DataFrame, measure: str) -> Table | None:
    """Return systems × means and datasets, each by the measure of the dataset's authors; None if that is ``measure`` for all."""
    if OWN_MEASURE not in summary:
        return None
    rows = [row for row in summary.to_dict("records") if not str(row[OWN_MEASURE]).startswith(NOT_AVERAGED)]
    own = {str(row["dataset"]): row[OWN_MEASURE] if isinstance(row[OWN_MEASURE], str) else measure for row in rows}
    values = {(str(r["system"]), str(r["dataset"])): r[OWN_SCORE if isinstance(r[OWN_MEASURE], str) else measure] for r in rows}
    means = {str(row["dataset"]) for row in rows if not isinstance(row["split"], str)}
    names = sorted(own, key=lambda name: name not in means)
    labels = {name: f"{name.partition(' (')[0] if name in means else name}: {own[name]}" for name in names}
    caption = "Every dataset by the main measure of its authors"
    return _table("own-measures", "Measures of the authors", caption, values, labels, len(means))


def _cut(summary: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the share of truncated documents by system and dataset."""
    return {key: f" {CUT}{share:.0%}" for key, share in by_pair(summary, TRUNCATED).items() if share >= LEAST_CUT}


def _trained(summary: pd.DataFrame) -> set[tuple[str, str]]:
    """Return systems with the datasets that they were trained on."""
    splits = by_pair(summary[summary["split"].notna()], TRAINED_ON)
    return {key for key, split in splits.items() if split not in (NOT_TRAINED, NOT_STATED)}


def significance_marks(comparison: pd.DataFrame, measure: str, baseline: str) -> Marks:
    """Return the marks of significant differences in a measure, by system and dataset; none if it was not tested."""
    marks = {}
    for row in against(comparison, measure, baseline).query("p_holm < @LEVEL").to_dict("records"):
        other, sign = (row["system_b"], -1) if row["system_a"] == baseline else (row["system_a"], 1)
        marks[str(other), str(row["dataset"])] = HIGHER if sign * row["difference"] > 0 else LOWER
    return marks


def published_table(summary: pd.DataFrame, measure: str, sources: Sources) -> Table | None:
    """Return the published scores of a measure with the difference to ours; None if nothing is comparable."""
    if f"published_{measure}" not in summary:
        return None
    compared = summary[summary[f"published_{measure}"].notna()]
    if compared.empty:
        return None
    datasets, rows = _names(compared), []
    for system, part in compared.groupby("system", sort=False):
        by_dataset: dict[str, Mapping[Any, Any]] = {row["dataset"]: row for row in part.to_dict("records")}
        rows.append([Cell(str(system)), *(_published(by_dataset.get(name), str(system), measure, sources) for name in datasets)])
    columns = [SYSTEM, *number_columns(datasets)]
    caption = f"Published {measure}, and below it Δ (measured minus published); columns sort by Δ"
    return Table(f"published-{measure}", f"{measure}: published scores", caption, columns, rows, close=True)


def _published(row: Mapping[Any, Any] | None, system: str, measure: str, sources: Sources) -> Cell:
    if row is None:
        return Cell("")
    reference, difference = number(row[f"published_{measure}"]), number(row[f"difference_{measure}"], "+.4f")
    note = sources.cite(system, row[f"source_{measure}"])
    return Cell(f"{reference.text}\n{difference.text}", difference.value, note=note)


def kind_tables(summary: pd.DataFrame, measure: str) -> list[tuple[Table, list[str]]]:
    """Return the means by task and by domain with the datasets of each column; none if every dataset would be alone."""
    kinds, tables = load_catalogue().kinds, []
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
        table = _table(f"by-{kind}", title, caption, means, {group: group for group in members}, len(members))
        tables.append((table, [f"{group}: {', '.join(names)}." for group, names in members.items()]))
    return tables


def _names(table: pd.DataFrame, column: str = "dataset") -> list[str]:
    return [str(name) for name in dict.fromkeys(table[column])]


def _values(summary: pd.DataFrame, measure: str) -> dict[Any, float]:
    return summary.set_index(["system", "dataset"])[measure].to_dict()


def _table(
    name: str,
    title: str,
    caption: str,
    values: Mapping[tuple[str, str], float],
    labels: Mapping[str, str],
    means: int,
    marks: Marks = NOTHING,
    suffixes: Marks = NOTHING,
) -> Table:
    """Return systems × columns, of which the first are means; unless all are, sorted by the first column, descending.

    ``marks`` are superscripts of numbers, ``suffixes`` follow them.
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
            row.append(Cell(plain.text + suffixes.get(key, ""), plain.value, best, marks.get(key, ""), heat))
    columns = [SYSTEM, *number_columns(labels.values(), means if ranked else 0)]
    return Table(name, title, caption, columns, rows, tall=True, close=True)


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
        *((True, sentence) for sentence in _uncertainty_notes(uncertainty)),
        (
            SEEDS in summary,
            "±: standard deviation over seeds, of a mean over them; such means have no interval, test or rank.",
        ),
        (_trained(summary), f"{TRAINED}: the system, or one that it uses, was trained or tuned on this dataset."),
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
        sentences.append(f"Assumed (not specified in the model files): {BETWEEN.join(assumed)}.")
    sentences += [f"Judgements of {each}." for each in of_datasets(summary)]
    return [*sentences, TRUSTED] if references is not None else sentences


def ranks_table(uncertainty: pd.DataFrame, measure: str) -> Table | None:
    """Return the uncertainty of the first column of a leaderboard, best system first; None if the measure was not tested.

    That column is the first mean over datasets, or a single dataset. The draws are those of queries.
    """
    of_measure = uncertainty[(uncertainty["measure"] == measure) & (uncertainty["resampled"] == QUERIES)]
    if of_measure.empty:
        return None
    means = [name for name in _names(of_measure) if "mean of " in name]
    dataset = (means or _names(of_measure))[0]
    label, several = dataset.partition(" (")[0], len(set(of_measure["system"])) > 1
    rows = _with_spans(of_measure[of_measure["dataset"] == dataset].sort_values("rank", kind="stable"))
    alone = () if several else ("ranks", "first", "groups")
    return framed("ranks-{measure}", rows, alone, measure=measure, dataset=label)


def nanobeir_table(nanobeir: pd.DataFrame, measure: str) -> Table | None:
    """Return ``nanobeir.csv`` of a measure; None without a dataset both in full and as NanoBEIR's sample."""
    rows = nanobeir[nanobeir["measure"] == measure]
    return None if rows.empty else framed("nanobeir-{measure}", with_short_names(rows), measure=measure)


def _uncertainty_notes(uncertainty: pd.DataFrame | None) -> list[str]:
    """Return notes on the columns of ranks, and on the power of each dataset; none without intervals."""
    if uncertainty is None or uncertainty.empty:
        return []
    interval = "95 %: confidence interval of the mean (bootstrap over queries)"
    sentences = [f"{interval}; unknown for fewer than {FEWEST} queries, and where all have the same value."]
    if uncertainty["system"].nunique() < 2:
        return sentences
    sentences.append(
        "Rank: its 95 % interval over the same draws. P(best): the share of draws in which the system is the best. Group:"
        " systems that share a letter are not significantly different after Holm's correction for all pairs."
    )
    measure = str(uncertainty["measure"].iloc[0])
    known = with_short_names(uncertainty[uncertainty["measure"] == measure].dropna(subset="detectable"))
    by_dataset = dict(zip(known["dataset"], known["detectable"], strict=True))
    detectable = ", ".join(f"{name} {value:.4f}" for name, value in by_dataset.items())
    power = f"Minimum detectable difference in {measure} (80 % power, a single test at level {LEVEL}, median of all pairs)"
    larger = "Marks and letters are corrected for the number of tests, so they need larger ones."
    return [*sentences, f"{power}: {detectable}. {larger}"] if detectable else sentences


def uncertainty_table(uncertainty: pd.DataFrame) -> Table:
    """Return ``uncertainty.csv``: every system on every dataset and in every mean."""
    return framed("uncertainty-table", _with_spans(with_short_names(uncertainty)))


def _with_spans(uncertainty: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``interval`` and ``ranks``, cells of the bounds of means and of ranks."""
    means = map(_span, uncertainty["low"], uncertainty["high"], repeat(".4f"))
    ranks = map(_span, uncertainty["rank_low"], uncertainty["rank_high"])
    return uncertainty.assign(interval=pd.Series([*means], uncertainty.index), ranks=pd.Series([*ranks], uncertainty.index))


def _span(low: float, high: float, form: str = "g") -> Cell:
    """Return the cell of an interval: one number if both bounds are printed alike, words if they are unknown."""
    first, last = (format(bound, form) for bound in (low, high))
    return Cell("unknown" if low != low else first if first == last else f"{first}–{last}", low)
