"""The page of the choice: the answer in words, then plots, tables and definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd
from scipy.constants import giga

from beirflow.files.csv_files import write_csv
from beirflow.files.layout import record_of
from beirflow.files.records import Job
from beirflow.report.choice import SIGNIFICANT, ChoiceFiles, Prices, cheapest, choice_table, not_worse
from beirflow.report.pages import Cell, Column, Table, counted, listed, number, record_files_for_reading, write_page
from beirflow.report.scatter import Scatter, scatter, short

BUDGETS = {"milliseconds": ("milliseconds", 1.0, "{:g} ms a query"), "gigabytes": ("index_bytes", giga, "{:g} GB of index")}
"""By key of ``choice``, the column, the size of its unit, and how it is said."""

PLOTS = {
    "milliseconds": "milliseconds a query",
    "bytes_per_million": "GB a million documents",
    "price": "price of a million documents",
}
"""By kind of cost, the label of the axis."""

Numbers = Mapping[str, tuple[str, str, float]]
"""By column of ``choice.csv``: its header, how it is written (empty: the digits that count), and what it is divided by."""

INDEX: Numbers = {
    "bytes_per_million": ("GB", "", giga),
    "index_bytes": ("GB here", "", giga),
    "index_seconds_per_million": ("Seconds", ",.0f", 1),
}
PRICES: Numbers = {
    "index_price": ("To index", ",.2f", 1),
    "month_price": ("A month", ",.2f", 1),
    "price": ("Both", ",.2f", 1),
    "query_price": ("Million queries", ",.2f", 1),
}
UNDECIDED = 0.05  # a possible loss above it is no reason to take a system, however cheap
STUB = Column("System", number=False, classes="stub")


def write_choice(
    *,
    files: ChoiceFiles,
    table_path: str,
    page_path: str,
    manifest_path: str,
    prices: Prices,
    choice: Mapping[str, float],
    job: Job,
) -> None:
    """Write ``choice.csv``, the page and the record of both, with the prices and budgets behind them.

    ``choice`` has the budgets ``milliseconds`` and ``gigabytes``, as far as there are any.
    """
    table, measure = choice_table(files, prices), files.main_measure
    known_prices = {name: price for name, price in asdict(prices).items() if price is not None}
    write_csv(table, table_path)
    in_gigabytes = table.assign(bytes_per_million=table["bytes_per_million"] / giga)
    plots = (scatter(in_gigabytes, cost, measure, label) for cost, label in PLOTS.items())
    values = {
        "title": f"beirflow: the choice among {counted(len(table), 'system')}",
        "heading": "Which system to take",
        "lead": f"{counted(len(table), 'system')} on {counted(len(files.rows), 'dataset')}, by {_mean(table, measure)}.",
        "answers": list(answers(table, measure, choice)),
        "plots": [plot for plot in plots if plot],
        "systems": systems_table(table, measure),
        "encoders": list(_encoders(in_gigabytes, measure)),
        "prices": known_prices,
        "significant": SIGNIFICANT,
        "measure": measure,
    }
    write_page("choice.html.j2", page_path, values, scripts=("tables.js", "choice.js"))
    record_files_for_reading(
        paths=[page_path, table_path],
        manifest_path=manifest_path,
        record_path=str(record_of(page_path)),
        job=job,
        prices=known_prices,
        choice=dict(choice),
    )


def _mean(table: pd.DataFrame, measure: str) -> str:
    return f"mean {measure}" if table["datasets"].iloc[0] > 1 else measure


def answers(table: pd.DataFrame, measure: str, budgets: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield the answer in sentences, their heads apart: the best, and by each budget the cheapest not significantly worse."""
    best, equals = table.iloc[0], table[not_worse(table)]
    interval = "" if pd.isna(best["low"]) else f" (95 % interval {best['low']:.4f} to {best['high']:.4f})"
    others = [str(name) for name in equals["system"][1:]]
    same = f"Not significantly worse: {listed(others)}." if others else "All others are significantly worse."
    yield (
        f"The best is {best['system']}:",
        f"{_mean(table, measure)} {best[measure]:.4f}{interval}. {same if len(table) > 1 else ''}",
    )
    found: dict[tuple[str, str], list[str]] = {}
    for said, affordable in _affordable(table, budgets):
        found.setdefault(_answer(affordable, equals, measure), []).append(said)
    for (head, text), budgets_in_words in found.items():
        yield head, f"{', '.join(budgets_in_words)}: {text}."


def _affordable(table: pd.DataFrame, budgets: Mapping[str, float]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield every budget in words, with the systems in it: without one, each, and all together."""
    keys = [key for key in BUDGETS if key in budgets]
    for some in ([], *([key] for key in keys), *([keys] if len(keys) > 1 else [])):
        affordable, said = table, list[str]()
        for key in some:
            column, unit, words = BUDGETS[key]
            affordable = affordable[affordable[column] / unit <= budgets[key]]
            said.append(words.format(budgets[key]))
        yield f"within {' and '.join(said)}" if said else "without a budget", affordable


def _answer(affordable: pd.DataFrame, equals: pd.DataFrame, measure: str) -> tuple[str, str]:
    """Return the cheapest of the systems that are not significantly worse; without one, the best of those in the budget."""
    if affordable.empty:
        return "Nothing,", "no system is in the budget, as far as costs are known"
    among = affordable[affordable["system"].isin(equals["system"])]
    taken = cheapest(among) if len(among) else affordable.iloc[0]
    if taken is None:
        return f"{among['system'].iloc[0]},", "the costs of those that are not significantly worse than the best are not known"
    reason = (
        "the cheapest that is not significantly worse than the best" if len(among) else "the best there, but significantly worse"
    )
    # A loss that is not known, as of a single query, is not excluded either.
    is_undecided = len(among) > 0 and pd.notna(taken["difference"]) and not taken["difference_low"] >= -UNDECIDED
    loss = f" of {-taken['difference_low']:.4f}" if pd.notna(taken["difference_low"]) else ""
    few = f"; too few queries to exclude a loss{loss}, so add queries or datasets" if is_undecided else ""
    head = f"{'Undecided, perhaps' if is_undecided else 'Take'} {taken['system']}"
    return head, f"{reason}{few}; {measure} {taken[measure]:.4f}{_lost(taken)}, {_costs(taken)}"


def _costs(row: Any) -> str:
    """Return the known costs of a system in words."""
    said = {
        "price": f"{row['price']:,.2f} for a million documents in the first month",
        "milliseconds": f"{short(row['milliseconds'])} ms a query",
        "bytes_per_million": f"{short(row['bytes_per_million'] / giga)} GB for a million documents",
    }
    return ", ".join(text for key, text in said.items() if pd.notna(row[key])) or "costs unknown"


def _lost(row: Any) -> str:
    """Return the difference to the best in words; empty for the best."""
    if pd.isna(row["difference"]):
        return ""
    interval = (
        "" if pd.isna(row["difference_low"]) else f" ({_signed(row['difference_low'])} to {_signed(row['difference_high'])})"
    )
    return f", {_signed(row['difference'])}{interval} beside the best"


def _signed(value: float) -> str:
    return number(value, "+.4f").text


def systems_table(table: pd.DataFrame, measure: str) -> Table:
    """Return quality, significance and cost of every system, the best first."""
    groups = [(_mean(table, measure), 2), ("Beside the best", 3), ("A query alone, ms", 2), ("Index of a million documents", 3)]
    columns = [STUB, _first("Mean"), Column("95 % interval")]
    columns += [_first("Difference"), Column("95 % interval"), Column("p")]
    columns += [_first("Median, 95 %"), Column("On", number=False, classes="")]
    columns += _columns(INDEX)
    if priced := bool(table["price"].notna().any() or table["query_price"].notna().any()):
        groups.append(("Price of a million documents, and queries", len(PRICES)))
        columns += _columns(PRICES)
    rows = []
    for i, row in enumerate(table.to_dict("records")):
        quality = [Cell(f"{row[measure]:.4f}", row[measure], best=not i), _interval(row["low"], row["high"], ".4f")]
        compared = [number(row["difference"], "+.4f"), _interval(row["difference_low"], row["difference_high"])]
        times = number(row["milliseconds"], ",.1f"), number(row["p95_milliseconds"], ",.1f")
        query = [
            Cell(", ".join(time.text for time in times if time.text), times[0].value),
            Cell({"cuda": "GPU", "cpu": "CPU"}.get(str(row["device"]), "")),
        ]
        prices = _numbers(row, PRICES) if priced else []
        rows.append([Cell(str(row["system"])), *quality, *compared, _p(row["p_holm"]), *query, *_numbers(row, INDEX), *prices])
    return Table("choice-table", "Every system", "The best first", columns, rows, groups, close=True)


def _first(label: str) -> Column:
    """Return the first column of a group."""
    return Column(label, classes="number group")


def _columns(numbers: Numbers) -> list[Column]:
    """Return the columns of a group."""
    return [Column(label) if i else _first(label) for i, (label, *_) in enumerate(numbers.values())]


def _numbers(row: Mapping[Any, Any], columns: Numbers) -> list[Cell]:
    return [number(row[key] / unit, form) if form else _short(row[key] / unit) for key, (_, form, unit) in columns.items()]


def _short(value: float) -> Cell:
    """Return a cell for a number with the digits that count; an empty one for not-a-number."""
    return Cell("") if pd.isna(value) else Cell(short(value), value)


def _interval(low: float, high: float, form: str = "+.4f") -> Cell:
    """Return a cell for an interval, sorted by its lower bound; empty if it is not known."""
    return Cell("") if pd.isna(low) else Cell(f"{number(low, form).text} to {number(high, form).text}", low)


def _p(value: float) -> Cell:
    """Return a p value with the digits that count."""
    return Cell("< 0.0001", value) if value < 0.0001 else number(value)


def _encoders(table: pd.DataFrame, measure: str) -> Iterator[tuple[str, list[Scatter], Table]]:
    """Yield the encoders with variants, each with the curves and the table of these."""
    for encoder in table["encoder"].dropna().unique():
        part = table[(table["encoder"] == encoder) | (table["system"] == encoder)]
        shares = [str(name) for name in part.columns if str(name).startswith("exact@") and part[name].notna().any()]
        plots = (scatter(part, cost, measure, PLOTS[cost], series="curve") for cost in ("bytes_per_million", "milliseconds"))
        labels = [measure, "Loss", "95 % interval", "p", *(f"Exact top {name[6:]}" for name in shares)]
        columns = [STUB, *map(Column, labels), Column("GB a million"), Column("Median, ms")]
        rows = []
        for row in part.sort_values("bytes_per_million", ascending=False, kind="stable").to_dict("records"):
            losses = [number(row["loss"], "+.4f"), _interval(row["loss_low"], row["loss_high"])]
            found = [number(row[name]) for name in shares]
            costs = _short(row["bytes_per_million"]), number(row["milliseconds"], ",.2f")
            rows.append([Cell(str(row["system"])), number(row[measure]), *losses, _p(row["loss_p_holm"]), *found, *costs])
        table_of = Table(
            f"variants-{encoder}",
            f"Variants of {encoder}",
            f"Loss: {measure} minus that of {encoder}; p: corrected for all variants",
            columns,
            rows,
            close=True,
        )
        yield str(encoder), [plot for plot in plots if plot], table_of
