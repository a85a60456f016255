"""Energy and emissions in the report."""

from dataclasses import replace

import pandas as pd

from beirflow.report.pages import Cell, Table, framed

SHOWN = {key: key for key in ("processor_joules", "gpu_joules", "co2_grams")} | {"processor_share": "processor_joules"}
"""By column of energy in ``cost.csv``, the column that is above 0 if energy was measured."""

NOT_COUNTED = (
    "Energy and emissions are unknown: no job could read energy counters (Linux has those of CPUs and memory in"
    " /sys/class/powercap, on most machines readable by root only; NVIDIA's driver has those of GPUs)."
)
COUNTED = (
    "Energy of CPUs with memory (RAPL) and GPUs (NVML) during the jobs of a system. CPU energy is attributed to a job by its"
    " share of the CPU time of all processes in that time, so that concurrent jobs add up to no more than the machine used;"
    " the column Share has this share over all jobs. Concurrent jobs on one GPU share its energy equally."
)


def energy_shown(costs: pd.DataFrame) -> tuple[Table | None, str]:
    """Return the table of energy and emissions, None without measurements, and a note on it."""
    table = _table(costs)
    if table is None:
        return None, NOT_COUNTED
    intensity = costs["carbon_intensity"].iloc[0]
    by = "are unknown without carbon_intensity" if pd.isna(intensity) else f"assume {intensity:g} g of CO₂ per kWh"
    return table, f"{COUNTED} Emissions {by}."


def _table(costs: pd.DataFrame) -> Table | None:
    """Return the table without empty columns."""
    empty = [key for key, source in SHOWN.items() if source not in costs or not (costs[source] > 0).any()]
    if len(empty) == len(SHOWN):
        return None
    table = framed("energy-table", costs, empty)
    return replace(table, rows=[[cell if cell.text else Cell("unknown") for cell in row] for row in table.rows])
