"""Columns of energy and emissions in ``cost.csv``."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.constants import hour, kilo

from beirflow.extensions.energy.layout import ENERGY

COUNTED = ("processor_joules", "gpu_joules", "own_seconds", "busy_seconds")  # columns of counters, read while a job runs
SUMMED = ("machine_joules", *COUNTED)  # the same with the attributed part of the first


def energy_columns(results: Path, jobs: Sequence[Sequence[str]], carbon_intensity: float | None) -> dict[str, float]:
    """Return the columns of a system on a dataset, from the names of its jobs on each corpus.

    ``carbon_intensity`` is in grams of CO2 per kilowatt-hour, None if unknown.
    """
    counts = [_counted(results / ENERGY(job=job) for job in names) for names in jobs]
    row = {name: sum(each[name] for each in counts) for name in SUMMED}
    # A ratio of sums, and not a sum of ratios.
    row["processor_share"] = _share(row.pop("own_seconds"), row.pop("busy_seconds"))
    row["carbon_intensity"] = np.nan if carbon_intensity is None else carbon_intensity
    row["co2_grams"] = (row["processor_joules"] + row["gpu_joules"]) / (kilo * hour) * row["carbon_intensity"]
    return row


def _counted(paths: Iterable[Path]) -> dict[str, float]:
    """Sum up the counts of some jobs; not-a-number for a count that a job lacks."""
    total = dict.fromkeys(SUMMED, 0.0)
    for path in paths:
        counts = dict[Any, float]()
        with suppress(OSError, ValueError, IndexError):  # no digest names it, so what it cannot say is not known
            counts = pd.read_csv(path, sep="\t", dtype=float).iloc[0].to_dict()
        counts["machine_joules"] = counts.get("processor_joules", np.nan)
        counts["processor_joules"] = counts["machine_joules"] * _share(
            counts.get("own_seconds", np.nan), counts.get("busy_seconds")
        )
        total = {name: value + counts.get(name, np.nan) for name, value in total.items()}
    return total


def _share(own: float, busy: float | None) -> float:
    """Return the share of processor time; not-a-number if it is not known."""
    return float(np.minimum(1.0, own / (busy or np.nan)))  # the kernel counts in hundredths of a second
