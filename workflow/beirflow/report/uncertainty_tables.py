"""``uncertainty.csv`` for reading: the columns of ranks of a leaderboard, their notes, and a table of all of it."""

from dataclasses import replace

import pandas as pd

from beirflow.report.pages import Cell, Column, Table, number

RANKS = [Column("95 %"), Column("Rank"), Column("First"), Column("Alike", number=False, classes="")]
"""Columns of a leaderboard; a single system has the first alone."""


def with_ranks(table: Table, uncertainty: pd.DataFrame, measure: str, dataset: str) -> Table:
    """Return a leaderboard with the uncertainty of the column of a dataset, or of a mean over some, behind that column.

    That is its first column of numbers. Of several kinds of draws, it is the first: of queries.
    """
    known = uncertainty[(uncertainty["measure"] == measure) & (uncertainty["dataset"] == dataset)]
    by_system = {row["system"]: row for row in reversed(known.to_dict("records"))}
    if not by_system:
        return table
    several, rows = len(by_system) > 1, []
    for system, value, *others in table.rows:
        row = by_system[system.text]
        interval = Cell(_span(row["low"], row["high"], ".4f"), row["low"])
        ranks = Cell(_span(row["rank_low"], row["rank_high"], ".0f"), row["rank_low"])
        cells = [interval, ranks, number(row["first"], ".2f"), Cell(_text(row["groups"]))]
        rows.append([system, value, *(cells if several else cells[:1]), *others])
    first, second, *rest = table.columns
    return replace(table, columns=[first, second, *(RANKS if several else RANKS[:1]), *rest], rows=rows)


def uncertainty_notes(uncertainty: pd.DataFrame) -> list[str]:
    """Return sentences on the columns of ranks, and on the power of each dataset."""
    sentences = ["95 %: interval of the mean, the queries of every dataset drawn again with replacement (bootstrap)."]
    if uncertainty["system"].nunique() < 2:
        return sentences
    sentences.append(
        "Rank: its 95 % interval over the same draws. First: the share of draws in which the system is the best. Alike: two"
        " systems that share a letter are not told apart by the tests, after Holm's correction for all pairs."
    )
    measure = str(uncertainty["measure"].iloc[0])
    known = uncertainty[(uncertainty["measure"] == measure) & uncertainty["detectable"].notna()]
    by_dataset = {str(row["dataset"]).partition(" (")[0]: row["detectable"] for row in known.to_dict("records")}
    least = ", ".join(f"{name} {value:.4f}" for name, value in by_dataset.items())
    power = f"Least difference in {measure} that is found with 80 % power (median of all pairs): {least}."
    return [*sentences, power] if least else sentences


def uncertainty_table(uncertainty: pd.DataFrame) -> Table:
    """Return ``uncertainty.csv``: every system on every dataset and in every mean."""
    labels = {"dataset": "Dataset", "measure": "Measure", "resampled": "Drawn again", "system": "System"}
    columns = [Column(label, number=False, classes="" if i else "stub") for i, label in enumerate(labels.values())]
    columns += [Column(label) for label in ("Mean", "95 %", "Rank", "95 % of ranks", "First")]
    columns += [Column("Alike", number=False, classes=""), Column("Detectable")]
    rows = []
    for row in uncertainty.to_dict("records"):
        cells = [Cell(str(row[key]).partition(" (")[0]) for key in labels]
        cells += [number(row["mean"]), Cell(_span(row["low"], row["high"], ".4f"), row["low"])]
        cells += [number(row["rank"], "g"), Cell(_span(row["rank_low"], row["rank_high"], "g"), row["rank_low"])]
        rows.append([*cells, number(row["first"], ".3f"), Cell(_text(row["groups"])), number(row["detectable"])])
    return Table("uncertainty-table", "Uncertainty", "Means and ranks with their 95 % intervals", columns, rows, tall=True)


def _span(low: float, high: float, form: str) -> str:
    """Return an interval as text; one number if both bounds look alike."""
    first, last = (format(bound, form) for bound in (low, high))
    return first if first == last else f"{first}–{last}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
