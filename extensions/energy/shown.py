"""Energy and emissions in the report, beside the other costs."""

from dataclasses import replace

import pandas as pd

from beirflow.report.pages import Cell, Table, framed

SHOWN = {key: key for key in ("processor_joules", "gpu_joules", "co2_grams")} | {"processor_share": "processor_joules"}
"""By column of energy in ``cost.csv``, the one that is above 0 where something was counted."""

NOT_COUNTED = (
    "Energy and emissions are not known: no job found counters of energy that it may read (Linux has those of processors and"
    " memory in /sys/class/powercap, on most machines for root only; NVIDIA's driver has those of GPUs)."
)
COUNTED = (
    "Energy is what processors with memory (by RAPL) and GPUs (by NVML) used while the jobs of a system ran. That of processors"
    " is attributed to a job by its share of the processor time of all processes meanwhile, so that jobs side by side add up to"
    " no more than the machine used; share is that of all jobs. Jobs on one GPU have equal parts of its energy."
)


def energy_shown(costs: pd.DataFrame) -> tuple[Table | None, str]:
    """Return energy and emissions of every system on every dataset, None if nobody counted any, and a note on them."""
    table = _table(costs)
    if table is None:
        return None, NOT_COUNTED
    intensity = costs["carbon_intensity"].iloc[0]
    by = "are not known without carbon_intensity" if pd.isna(intensity) else f"are those of {intensity:g} g of CO₂ a kWh"
    return table, f"{COUNTED} Emissions {by}."


def _table(costs: pd.DataFrame) -> Table | None:
    """Return the table without empty columns."""
    empty = [key for key, source in SHOWN.items() if source not in costs or not (costs[source] > 0).any()]
    if len(empty) == len(SHOWN):
        return None
    table = framed("energy-table", costs, empty)
    return replace(table, rows=[[cell if cell.text else Cell("not known") for cell in row] for row in table.rows])
