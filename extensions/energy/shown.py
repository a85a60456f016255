"""Energy and emissions in the report."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from beirflow.report.pages import DATASET, Cell, Table, framed, numbers, texts
from beirflow.report.registry import table
from beirflow.report.results import Results

KWH = 3_600_000  # joules

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


@table("cost")
def energy(results: Results) -> Iterator[Table]:
    """Yield energy and emissions without empty columns; only a note without measurements."""
    columns = {
        "dataset": DATASET,
        **texts(system="System"),
        **numbers(",.4f", processor_joules="Processors, kWh", gpu_joules="GPUs, kWh", unit=KWH),
        **numbers(".2f", processor_share="Share"),
        **numbers(",.1f", co2_grams="CO₂, g"),
    }
    costs = results.costs
    empty = [key for key, source in SHOWN.items() if source not in costs or not (costs[source] > 0).any()]
    if len(empty) == len(SHOWN):
        yield Table("", "Energy", "", [], [], notes=[NOT_COUNTED])
        return
    made = framed("Energy", "Energy of all jobs of each system", costs, columns, without=empty, tall=True)
    rows = [[cell if cell.text else Cell("unknown") for cell in row] for row in made.rows]
    intensity = costs["carbon_intensity"].iloc[0]
    by = "are unknown without carbon_intensity" if pd.isna(intensity) else f"assume {intensity:g} g of CO₂ per kWh"
    yield replace(made, rows=rows, notes=[f"{COUNTED} Emissions {by}."])
