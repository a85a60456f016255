"""The page of the choice: the answer in words, then plots, tables and definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd
from scipy.constants import giga

from beirflow.core.csv_files import write_csv
from beirflow.core.layout import record_of
from beirflow.core.records import Job
from beirflow.evaluation.machine_load import BUSY_LOAD, IN_WORDS
from beirflow.evaluation.paired_tests import LEVEL
from beirflow.extensions.choice.scatter import Scatter, scatter
from beirflow.extensions.choice.table import LEAST_DOCUMENTS, ChoiceFiles, Prices, cheapest, choice_table, known_costs
from beirflow.report.pages import (
    SYSTEM,
    Cell,
    Column,
    Columns,
    Table,
    counted,
    framed,
    least,
    listed,
    number,
    numbers,
    record_derived_files,
    short,
    texts,
    write_page,
)

BUDGETS = {"milliseconds": ("milliseconds", 1.0, "{:g} ms per query"), "gigabytes": ("index_bytes", giga, "{:g} GB of index")}
"""By key of ``choice``, the column, the size of its unit, and the text of the budget."""

PLOTS = {
    "milliseconds": "milliseconds per query",
    "bytes_per_million": "GB per million documents",
    "price": "price per million documents",
}
"""By kind of cost, the label of the axis."""

PRICES = ("index_price", "month_price", "price", "query_price")  # columns of ``choice.csv``

RARE = ("p95_milliseconds", "load_seconds", "index_load")  # columns that are left out if no system has them

EXACT = ("exact@10", "exact@100", "exact@1000")  # likewise, where an approximate system has them
REASONS = {"price": "the cheapest", "bytes_per_million": "the one with the smallest index", "milliseconds": "the fastest"}
"""By kind of cost, the name of the system with the lowest."""

COST_COLUMNS: Columns = {
    "system": SYSTEM,
    "Single query, ms": {
        **numbers(",.1f", times="Median", p95_milliseconds="p95"),
        **texts(device="Device"),
        **numbers(",.0f", latency_queries="Queries"),
        **numbers(".1f", latency_load="Load"),
    },
    "Index per million documents": {
        **numbers(least, bytes_per_million="GB", index_bytes="GB, these datasets", unit=giga),
        **numbers(",.0f", index_seconds_per_million="Seconds"),
        **numbers(",.1f", load_seconds="Loading, s"),
        **numbers(".1f", index_load="Load"),
    },
    "Price per million documents or queries": numbers(
        ",.2f", index_price="Indexing", month_price="Month of storage", price="Total", query_price="Million queries"
    ),
}
"""Columns of the table of costs."""

UNDECIDED = 0.05  # a possible loss above it is no reason to take a system, however cheap


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
    """Write ``choice.csv``, the page, and the record of both with prices and budgets.

    ``choice`` has the budgets ``milliseconds`` and ``gigabytes``, as far as there are any.
    """
    table, measure = choice_table(files, prices), files.main_measure
    known_prices = {name: price for name, price in asdict(prices).items() if price is not None}
    write_csv(table, table_path)
    in_gigabytes = table.assign(bytes_per_million=table["bytes_per_million"] / giga)
    plots = (scatter(in_gigabytes, cost, measure, label) for cost, label in PLOTS.items())
    values = {
        "title": f"beirflow: recommended of {counted(len(table), 'system')}",
        "heading": "Recommended system",
        "lead": f"{counted(len(table), 'system')} on {counted(len(files.rows), 'dataset')}, by {_mean(table, measure)}.",
        "answers": [*answers(table, measure, choice), *limits(table)],
        "plots": [plot for plot in plots if plot],
        "systems": systems_tables(table, measure),
        "encoders": list(_encoders(in_gigabytes, measure)),
        "prices": known_prices,
        "significant": LEVEL,
        "measure": measure,
        "busy": IN_WORDS,
        "busy_load": BUSY_LOAD,
        "least_documents": LEAST_DOCUMENTS,
    }
    write_page("choice.html.j2", page_path, values, scripts=["tables.js"])
    record_derived_files(
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
    """Yield head and sentence of each answer: the best system, and by budget the cheapest that is not significantly worse."""
    best, equals = table.iloc[0], table[~(table["p_holm"] < LEVEL)]  # the best has no p
    interval = "" if pd.isna(best["low"]) else f" (95 % interval {best['low']:.4f} to {best['high']:.4f})"
    others = [str(name) for name in equals["system"][1:]]
    same = f"Not significantly worse: {listed(others)}." if others else "All others are significantly worse."
    yield (
        f"The best is {best['system']}:",
        f"{_mean(table, measure)} {best[measure]:.4f}{interval}. {same if len(table) > 1 else ''}",
    )
    found: dict[tuple[str, str], list[str]] = {}
    for budget, affordable in _affordable(table, budgets):
        found.setdefault(_answer(affordable, equals, measure), []).append(budget)
    for (head, text), budgets_in_words in found.items():
        whatever = f"with or without the budgets of {' and '.join(_budgets(budgets))}"
        yield head, f"{whatever if len(budgets_in_words) > 2 and len(found) == 1 else ', or '.join(budgets_in_words)}: {text}."


def limits(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield head and sentence of each limitation of the measured costs."""
    busy = table[table["busy_milliseconds"].notna()]
    if len(busy):
        yield (
            "Latencies left out:",
            f"{listed(list(busy['system']))}, measured on a busy machine ({_load(busy['latency_load'])}). Budgets, prices and "
            "plots ignore them; to measure them again on an idle machine, add --forcerun measure_latency to the command.",
        )
    largest = int(table["largest_dataset"].max())
    if largest < LEAST_DOCUMENTS:
        yield (
            "Extrapolated sizes and prices left out:",
            f"the largest dataset has {counted(largest, 'document')}, fewer than {LEAST_DOCUMENTS:,}.",
        )
    indexed = table[table["index_load"] > BUSY_LOAD]
    if len(indexed):
        yield (
            "Indexing times, and prices based on them, left out:",
            f"{listed(list(indexed['system']))}, indexed on a busy machine ({_load(indexed['index_load'])}).",
        )


def _p_value(p: float) -> str:
    """Return p with four decimals, or ``< 0.0001``."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _load(loads: pd.Series) -> str:
    return f"load average up to {loads.max():.1f} per core"


def _affordable(table: pd.DataFrame, budgets: Mapping[str, float]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield budgets in words with the systems within them: no budget, each one, and all together."""
    keys = [key for key in BUDGETS if key in budgets]
    for some in ([], *([key] for key in keys), *([keys] if len(keys) > 1 else [])):
        affordable = table
        for key in some:
            column, unit, _ = BUDGETS[key]
            affordable = affordable[affordable[column] / unit <= budgets[key]]
        limits = _budgets({key: budgets[key] for key in some})
        yield f"within {' and '.join(limits)}" if limits else "without a budget", affordable


def _budgets(budgets: Mapping[str, float]) -> list[str]:
    """Return budgets in words."""
    return [words.format(budgets[key]) for key, (_, _, words) in BUDGETS.items() if key in budgets]


def _answer(affordable: pd.DataFrame, equals: pd.DataFrame, measure: str) -> tuple[str, str]:
    """Return the cheapest of the systems that are not significantly worse; without one, the best of those in the budget."""
    if affordable.empty:
        return "None,", "no system with known cost is within the budget"
    among = affordable[affordable["system"].isin(equals["system"])]
    taken = cheapest(among) if len(among) else affordable.iloc[0]
    if taken is None:
        return f"{among['system'].iloc[0]},", "unknown costs of the systems that are not significantly worse than the best"
    reason = "the best within the budget, but significantly worse than the best overall"
    if len(among):
        cost = known_costs(among)[0]
        known = "whose cost is known and which" if among[cost].isna().any() else "that"
        reason = f"{REASONS[cost]} {known} is not significantly worse than the best"
    # An unknown loss, as of a single query, is not excluded either.
    is_undecided = len(among) > 0 and pd.notna(taken["difference"]) and not taken["difference_low"] >= -UNDECIDED
    loss = f" of {-taken['difference_low']:.4f}" if pd.notna(taken["difference_low"]) else ""
    few = f", but with too few queries to exclude a loss{loss}; add queries or datasets" if is_undecided else ""
    head = f"{'Undecided, perhaps' if is_undecided else 'Take'} {taken['system']}"
    return head, f"{reason}{few}. {measure} {taken[measure]:.4f}{_lost(taken)}. Cost: {_costs(taken)}"


def _costs(row: Any) -> str:
    """Return the known costs of a system in words."""
    costs = {
        "price": f"{row['price']:,.2f} per million documents in the first month",
        "milliseconds": f"{short(row['milliseconds'])} ms per query",
        "bytes_per_million": f"{short(row['bytes_per_million'] / giga)} GB per million documents",
    }
    return ", ".join(text for key, text in costs.items() if pd.notna(row[key])) or "unknown"


def _lost(row: Any) -> str:
    """Return the difference to the best in words; empty for the best."""
    if pd.isna(row["difference"]):
        return ""
    interval = (
        "" if pd.isna(row["difference_low"]) else f" ({_signed(row['difference_low'])} to {_signed(row['difference_high'])})"
    )
    return f", {_signed(row['difference'])}{interval} against the best"


def _signed(value: float) -> str:
    return number(value, "+z.4f").text


def systems_tables(table: pd.DataFrame, measure: str) -> tuple[Table, Table]:
    """Return the tables of quality with significance, and of cost, the best system first."""
    priced = table["price"].notna().any() or table["query_price"].notna().any()
    shown = table.assign(
        **{measure: pd.Series([Cell(f"{mean:.4f}", mean, best=not i) for i, mean in enumerate(table[measure])], table.index)},
        interval=_intervals(table["low"], table["high"], ".4f"),
        differences=_intervals(table["difference_low"], table["difference_high"]),
        times=pd.Series([*map(_times, table["milliseconds"], table["busy_milliseconds"])], table.index),
        device=table["device"].map({"cuda": "GPU", "cpu": "CPU"}),
    )
    absent = [*(() if priced else PRICES), *(name for name in RARE if table[name].isna().all())]
    quality: Columns = {
        "system": SYSTEM,
        _mean(table, measure): {
            measure: Column("Mean"),
            **numbers(".4f", interval="95 % interval"),
        },
        "Compared with the best": {
            **numbers("+z.4f", difference="Difference", differences="95 % interval"),
            **numbers(_p_value, p_holm="p"),
        },
    }
    return (
        framed("Quality", "Quality, best first", shown, quality, name="choice-table", close=True),
        framed("Cost", "Cost, in the same order", shown, COST_COLUMNS, without=absent, name="choice-costs", close=True),
    )


def _times(median: float, busy: float) -> Cell:
    """Return the cell of the time of a query, marked and last in order if the machine was busy."""
    return Cell(f"{busy:,.1f} (busy)") if pd.notna(busy) else number(median, ",.1f")


def _intervals(lows: pd.Series, highs: pd.Series, form: str = "+z.4f") -> pd.Series:
    """Return the cells of intervals, sorted by the lower bound; empty where it is unknown."""
    bounds = [(number(low, form), number(high, form)) for low, high in zip(lows, highs, strict=True)]
    cells = [replace(low, text=f"{low.text} to {high.text}") if low.text else low for low, high in bounds]
    return pd.Series(cells, lows.index)


def _encoders(table: pd.DataFrame, measure: str) -> Iterator[tuple[str, list[Scatter], Table]]:
    """Yield the encoders with variants, each with the curves and the table of these."""
    for encoder in table["encoder"].dropna().unique():
        part = table[(table["encoder"] == encoder) | (table["system"] == encoder)]
        shares = [str(name) for name in part.columns if str(name).startswith("exact@") and part[name].notna().any()]
        plots = (scatter(part, cost, measure, PLOTS[cost], series="curve") for cost in ("bytes_per_million", "milliseconds"))
        largest_first = part.assign(interval=_intervals(part["loss_low"], part["loss_high"]))
        largest_first = largest_first.sort_values("bytes_per_million", ascending=False, kind="stable")
        absent = [name for name in EXACT if name not in shares]
        columns = {
            "system": SYSTEM,
            measure: Column(measure),
            **numbers("+z.4f", loss="Loss", interval="95 % interval"),
            **numbers(_p_value, loss_p_holm="p"),
            "exact@10": Column("Exact top 10"),
            "exact@100": Column("Exact top 100"),
            "exact@1000": Column("Exact top 1000"),
            **numbers(short, bytes_per_million="GB per million"),
            **numbers(",.2f", milliseconds="Median, ms"),
        }
        caption = f"Loss: {measure} minus that of {encoder}; p: corrected for all variants"
        variants = framed(
            f"Variants of {encoder}", caption, largest_first, columns, without=absent, name=f"variants-{encoder}", close=True
        )
        yield str(encoder), [plot for plot in plots if plot], variants
