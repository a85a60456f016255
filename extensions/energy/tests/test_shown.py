"""Energy in the report."""

import pandas as pd

from beirflow.extensions.energy.shown import energy
from beirflow.report.pages import Table
from report_files import results_of


def seen(table: Table) -> list[list[str]]:
    """Read the cells of the rows."""
    return [[cell.text for cell in row] for row in table.rows]


def costs_of(**columns: list[float]) -> pd.DataFrame:
    """Costs of two systems; what is not said of energy is not known."""
    keys = ("processor_joules", "gpu_joules", "processor_share", "co2_grams", "carbon_intensity")
    others = ("documents", "documents_reused", "documents_per_second", "index_seconds", "queries_seconds", "search_seconds")
    others += ("evaluate_seconds", "seconds", "peak_memory_bytes", "index_bytes")
    table = dict.fromkeys(others, 1.0) | dict.fromkeys(keys, float("nan")) | columns
    return pd.DataFrame(table | {"system": ["a", "b"], "dataset": "d", "precision": "float32", "devices": "cpu"})


def made(costs: pd.DataFrame) -> Table:
    (table,) = energy(results_of(costs=costs))
    return table


def test_energy_is_in_kilowatt_hours_and_what_is_not_known_says_so() -> None:
    costs = costs_of(gpu_joules=[0.0, 0.0])
    assert not made(costs).rows
    assert made(costs).notes[0].startswith("Energy and emissions are unknown: ")
    costs = costs_of(processor_joules=[7.2e6, float("nan")], gpu_joules=[0.0, 0.0], processor_share=[0.5, float("nan")])
    table = made(costs)
    assert [column.label for column in table.columns] == ["Dataset", "System", "Processors, kWh", "Share"]
    assert seen(table) == [["d", "a", "2.0000", "0.50"], ["d", "b", "unknown", "unknown"]]
    assert table.rows[1][-2].value is None
    assert "Emissions are unknown without carbon_intensity." in made(costs).notes[0]
    counted = {"processor_joules": [3.6e6, 3.6e6], "gpu_joules": [3.6e6, 0.0], "co2_grams": [700.0, 350.0]}
    costs = costs_of(**counted, carbon_intensity=[350.0] * 2)
    table = made(costs)
    shown = [["1.0000", "1.0000", "700.0"], ["1.0000", "0.0000", "350.0"]]  # no share is known
    assert [row[2:] for row in seen(table)] == shown
    assert "Emissions assume 350 g of CO₂ per kWh." in made(costs).notes[0]
