"""The choice of a system: quality, the costs of a query and of an index, and which systems cannot be distinguished from the best.

``README.md`` describes ``choice.csv``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.constants import giga, hour, kilo, mega

from beirflow.config.main_measure import MAIN_MEASURE
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import DataError
from beirflow.core.extensions import forms
from beirflow.core.records import read_json
from beirflow.evaluation.cost import LOAD, on_front
from beirflow.evaluation.machine_load import BUSY_LOAD, is_busy, load_per_core
from beirflow.evaluation.paired_tests import confidence_interval, holm, randomisation_test
from beirflow.evaluation.scores import read_per_query

DRAWN = 20_000  # signs of a test; their least p, times the number of systems, is far below the level

INDEXING = ("expand_seconds", *(f"{key}_seconds" for key in forms()), "index_seconds", "build_seconds")
"""Columns of ``cost.csv`` of stages before the first query."""

LEAST_DOCUMENTS = 1000
"""Documents of a dataset from which a million are estimated, a thousandfold at most: less is mostly the fixed cost of a job."""

COSTS = ("milliseconds", "bytes_per_million", "price")  # kinds of cost that have a front


@dataclass(frozen=True)
class ChoiceFiles:
    """Files that the choice is made from.

    ``means_paths`` and ``per_query_paths`` are of every system on every corpus, in the same order, as ``latency_paths``;
    ``rows`` has the corpora of every dataset, ``base_encoders`` by system the one whose vectors it searches, and
    by which dimensions or index.
    """

    means_paths: Sequence[str]
    per_query_paths: Sequence[str]
    latency_paths: Sequence[str]
    costs_path: str
    rows: Mapping[str, Sequence[str]]
    base_encoders: Mapping[str, tuple[str, str]]
    main_measure: str = MAIN_MEASURE


@dataclass(frozen=True)
class Prices:
    """Prices in one currency: of an hour of the machine, and of 10^9 bytes stored for a month; None if not known."""

    hour: float | None = None
    gigabyte_month: float | None = None


@dataclass(frozen=True)
class Quality:
    """Values of every query of all datasets."""

    values: Mapping[str, list[np.ndarray]]  # by system, the values of the queries of each corpus, float64
    shares: list[float]  # weight of each corpus in the mean over datasets; their sum is 1

    @cached_property
    def _weights(self) -> np.ndarray:
        first = next(iter(self.values.values()))
        return np.concatenate([np.full(len(part), share / len(part)) for part, share in zip(first, self.shares, strict=True)])

    def mean(self, system: str) -> float:
        """Return the mean over datasets."""
        return float(self._weights @ np.concatenate(self.values[system]))

    def interval(self, system: str, minus: str = "") -> tuple[float, float]:
        """Return the 95 % interval of that mean, or of its difference to that of another system."""
        parts = self.values[system]
        if minus:
            parts = [one - other for one, other in zip(parts, self.values[minus], strict=True)]
        return confidence_interval(parts, weights=self.shares)

    def tests(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Return p of paired randomisation tests of the difference of some pairs, float64 of shape (pairs,)."""
        if not pairs:
            return np.zeros(0)
        differences = [np.concatenate(self.values[one]) - np.concatenate(self.values[other]) for one, other in pairs]
        return randomisation_test(self._weights[:, None] * np.array(differences).T, DRAWN)


def choice_table(files: ChoiceFiles, prices: Prices) -> pd.DataFrame:
    """Return ``choice.csv``; raise DataError if values are not those that were recorded, or queries differ."""
    quality, exact = _read_quality(files)
    measure, systems = files.main_measure, sorted(quality.values, key=lambda system: -quality.mean(system))
    table = pd.DataFrame({"system": systems, "datasets": len(files.rows), measure: [quality.mean(system) for system in systems]})
    table[["low", "high"]] = [quality.interval(system) for system in systems]
    _compare(table, quality, dict.fromkeys(systems[1:], systems[0]), ("difference", "p"))
    searched = {system: of for system, of in files.base_encoders.items() if of[0] in systems}
    table[["encoder", "curve"]] = [searched.get(system, (None, None)) for system in systems]
    encoders = {system: searched[system][0] for system in systems if system in searched}
    _compare(table, quality, encoders, ("loss", "loss_p"))
    of_query, costs = _latencies(files), read_named_csv(files.costs_path)
    of_index = {system: _of_index(costs[costs["system"] == system]) for system in systems}
    for found in (exact, of_query, of_index):
        table = table.join(pd.DataFrame(list(found.values()), index=list(found)), on="system")
    _add_prices(table, prices)
    for cost in COSTS:
        table[f"front_of_{cost}"] = on_front(table[measure].to_numpy(), table[cost].to_numpy())
    return table


def _read_quality(files: ChoiceFiles) -> tuple[Quality, dict[str, dict[str, float]]]:
    """Read the values of every query, and by system the shares of the exact hits that approximate ones find."""
    values: dict[str, dict[str, np.ndarray]] = {}
    counts: dict[str, dict[str, int]] = {}
    queries: dict[str, Any] = {}
    for means_path, path in zip(files.means_paths, files.per_query_paths, strict=True):
        means, columns = read_per_query(means_path, path, ["query_id", files.main_measure])
        system, corpus = means["system"], means["dataset"]
        if not columns["query_id"].equals(queries.setdefault(corpus, columns["query_id"])):
            raise DataError(f"{path}: other queries than those of other systems; evaluate again: rm {path}")
        values.setdefault(system, {})[corpus] = columns[files.main_measure].to_numpy()
        total = counts.setdefault(system, {})
        for name, number in means["counts"].items():
            if name.startswith("exact_"):
                total[name] = total.get(name, 0) + number
    corpora = {corpus: 1 / (len(files.rows) * len(names)) for names in files.rows.values() for corpus in names}
    quality = Quality({system: [of[corpus] for corpus in corpora] for system, of in values.items()}, list(corpora.values()))
    exact = {
        system: {
            f"exact@{name.split('_')[1]}": total[name] / total[name.removesuffix("_found")] for name in total if "_found" in name
        }
        for system, total in counts.items()
    }
    return quality, exact


def _compare(table: pd.DataFrame, quality: Quality, others: Mapping[str, str], names: tuple[str, str]) -> None:
    """Add differences of systems to others, their intervals, and p with and without correction for their number."""
    difference, p = names
    pairs = list(others.items())
    tested = quality.tests(pairs)
    rows = {
        system: (quality.mean(system) - quality.mean(other), *quality.interval(system, other), *both)
        for (system, other), *both in zip(pairs, tested, holm(tested), strict=True)
    }
    columns = [difference, f"{difference}_low", f"{difference}_high", p, f"{p}_holm"]
    table[columns] = [rows.get(system, (np.nan,) * len(columns)) for system in table["system"]]


def _latencies(files: ChoiceFiles) -> dict[str, dict[str, Any]]:
    """Return by system the time of a query, on the GPU where it was measured on every corpus, else on the processor.

    A time of a busy machine is apart, so that no budget, price or front has it; ``latency_queries`` is the least number of
    queries of a corpus, ``latency_load`` the highest load average per core.
    """
    records = {(record["system"], record["dataset"]): record for record in map(read_json, files.latency_paths)}
    found = {}
    for system in dict.fromkeys(system for system, _ in records):
        devices = [set(records[system, corpus]["devices"]) for names in files.rows.values() for corpus in names]
        # A mean of times on two devices would be that of neither.
        device = next((name for name in ("cuda", "cpu") if all(name in known for known in devices)), None)
        times = {}
        for column, key in (("milliseconds", "p50_ms"), ("p95_milliseconds", "p95_ms")):
            rows = [
                np.mean(
                    np.array([records[system, corpus]["devices"][device][key] if device else None for corpus in names], float)
                )
                for names in files.rows.values()
            ]
            times[column] = float(np.mean(rows))
        of_system = [records[system, corpus] for names in files.rows.values() for corpus in names]
        busy = {"busy_milliseconds": np.nan}
        if any(map(is_busy, of_system)):
            busy, times = {"busy_milliseconds": times["milliseconds"]}, dict.fromkeys(times, np.nan)
        found[system] = {
            **times,
            **busy,
            "device": device,
            "latency_queries": min(record["devices"][device]["queries"] for record in of_system) if device else None,
            "latency_load": max(map(load_per_core, of_system)),
        }
    return found


def _of_index(costs: pd.DataFrame) -> dict[str, float]:
    """Return bytes and seconds of the indexes of a system from its rows of ``cost.csv``.

    Those of a million documents are estimated from the datasets of :data:`LEAST_DOCUMENTS` or more; seconds only if the machine
    was not busy while any of these was indexed, as far as that is known.
    """
    large = costs[costs["documents"] >= LEAST_DOCUMENTS]
    load = float(large[LOAD].max()) if LOAD in large else np.nan
    computed = int((large["documents"] - large["documents_reused"]).sum())
    known = bool(large["index_seconds"].notna().all()) and computed >= LEAST_DOCUMENTS and not load > BUSY_LOAD
    seconds = float(large[[column for column in INDEXING if column in large]].sum().sum())
    return {
        "index_bytes": float(costs["index_bytes"].sum(skipna=False)),
        "bytes_per_million": large["index_bytes"].sum(skipna=False) / (large["documents"].sum() or np.nan) * mega,
        "index_seconds_per_million": seconds / computed * mega if known else np.nan,
        "load_seconds": float(costs["load_seconds"].sum(skipna=False)) if "load_seconds" in costs else np.nan,
        "index_load": load,
        "largest_dataset": int(costs["documents"].max()),
    }


def _add_prices(table: pd.DataFrame, prices: Prices) -> None:
    """Add prices; empty without one."""
    hourly, stored = (np.nan if price is None else price for price in (prices.hour, prices.gigabyte_month))
    table["index_price"] = table["index_seconds_per_million"] / hour * hourly
    table["month_price"] = table["bytes_per_million"] / giga * stored
    table["price"] = table["index_price"] + table["month_price"]
    table["query_price"] = table["milliseconds"] / kilo / hour * hourly * mega


def known_costs(table: pd.DataFrame) -> list[str]:
    """Return the kinds of cost that are known of the most systems, price before bytes and milliseconds; none without any cost."""
    known = {cost: int(table[cost].notna().sum()) for cost in ("price", "bytes_per_million", "milliseconds")}
    return [cost for cost, systems in known.items() if systems == max(known.values()) > 0]


def cheapest(table: pd.DataFrame) -> Any:
    """Return the cheapest row of those whose first known cost is known, by quality if costs are equal; None if no cost is."""
    orders = known_costs(table)
    return table[table[orders[0]].notna()].sort_values(orders, kind="stable").iloc[0] if orders else None
