"""Efficiency: what is quoted of the paper is marked so, and ours say on what they were measured, and why a time is not there."""

from pathlib import Path

import pandas as pd
import pytest
from beirflow.files.records import read_json
from beirflow.paper.efficiency import COLUMNS, QUOTED, efficiency, tabulate_efficiency
from beirflow.paper.facts import load_facts
from beirflow.paper.page import efficiency_table
from latencies import latency, write_latency

FACTS = load_facts()


@pytest.fixture
def table(tmp_path: Path) -> pd.DataFrame:
    both = {"cuda": latency(1.5, 200), "cpu": latency(40.0, 150)}
    paths = [
        write_latency(tmp_path, "ours", "scifact", 5183, devices=both, reasons={}, gpu="a GPU"),
        write_latency(tmp_path, "bm25", "scifact", 5183),
        write_latency(tmp_path, "theirs", "scifact", 5183, devices={}, reasons={"cpu": "it was made elsewhere"}),
    ]
    written = tmp_path / "efficiency.csv"
    tabulate_efficiency(latency_paths=[str(path) for path in paths], table_path=str(written))
    return pd.read_csv(written).set_index("system")


def test_systems_of_the_paper_are_quoted_and_ours_have_medians_and_percentiles(table: pd.DataFrame) -> None:
    quoted = table[table["source"] == QUOTED]
    assert set(quoted.index) == {FACTS.label(name) for name in FACTS.systems}
    assert set(quoted["documents"]) == {1_000_000}
    assert quoted.loc["BM25+CE", ["gpu_ms", "cpu_ms", "index_bytes"]].tolist() == [450, 6100, 400_000_000]
    assert quoted.loc["BM25", ["gpu_ms", "gpu_p95_ms", "threads"]].isna().all()
    assert quoted.loc["SPARTA", "index_bytes"] == 12_000_000_000
    ours = table.loc["ours"]
    assert ours[["gpu_ms", "gpu_p95_ms", "cpu_ms", "cpu_p95_ms"]].tolist() == [1.5, 3.0, 40.0, 80.0]
    assert (ours["source"], ours["dataset"], ours["documents"], ours["queries"]) == ("here", "scifact", 5183, 150)
    assert (ours["index_bytes"], ours["threads"], ours["processor"], ours["gpu"]) == (1_500_000, 2, "a processor", "a GPU")
    # A time that is not there says why.
    assert table.loc["bm25", "note"] == "GPU: there is none here"
    assert pd.isna(table.loc["bm25", "gpu_ms"])
    assert table.loc["theirs", "note"] == "CPU: it was made elsewhere"
    assert table.loc["theirs", ["gpu_ms", "cpu_ms", "queries"]].isna().all()


def test_the_page_has_every_row_and_where_ours_were_measured(tmp_path: Path) -> None:
    table = efficiency([read_json(write_latency(tmp_path, "<b>", "scifact"))], FACTS)
    shown, notes = efficiency_table(table)
    assert tuple(table.columns) == COLUMNS
    assert [row[0].text for row in shown.rows][-1] == "<b>"
    assert len(shown.rows) == len(FACTS.systems) + 1
    assert notes == ["a: 2 threads of a processor; GPU: there is none here"]
    assert [cell.text for cell in shown.rows[-1]][-3:] == ["6.0", "5", "0.0015"]
