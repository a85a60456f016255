"""The page of the paper: every part is on it, with what is missing; the documentation names every column."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json, write_json
from beirflow.extensions.beir_paper import bias, corpus_tables, overlap
from beirflow.extensions.beir_paper.corpus_tables import JUDGED, MEDIANS, PAIRS, RETRIEVED, bins, medians, similarities, table_1
from beirflow.extensions.beir_paper.efficiency import COLUMNS, QUOTED, efficiency, tabulate_efficiency
from beirflow.extensions.beir_paper.findings import write_findings
from beirflow.extensions.beir_paper.page import efficiency_table, write_paper
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.extensions.beir_paper.registry import FIGURES, TABLES
from beirflow.extensions.papers import findings
from beirflow.report.analysis.lengths import histogram
from latencies import latency, write_latency

PAPER = load_paper()
HOSTILE = "<script>alert(1)</script>"
MANIFEST = {"written": "2026-01-02T03:04:05+00:00"}


def write(folder: Path, systems: tuple[str, ...] = ("bm25-multifield", "tas-b", HOSTILE)) -> str:
    """Tables of results that are made up, and figures that are none."""
    paper = folder / "beir_paper"
    paper.mkdir()
    lengths = {
        row: [{"all documents": histogram(np.arange(9)), **dict.fromkeys(systems, histogram(np.arange(3)))}]
        for row in ("scifact", "own")
    }
    words, measures = medians({RETRIEVED: lengths, JUDGED: {}}), {"NDCG@10": 0.5}
    means = [{"system": system, "dataset": "own", "measures": measures} for system in systems]
    holes = [{"dataset": "scifact", "system": system, "pooled": True, "hole": 0.25} for system in systems]
    tables = {
        "table-1": table_1({}, PAPER),
        "overlap": pd.DataFrame([("scifact", "own", 0.5)], columns=list(overlap.COLUMNS)),
        RETRIEVED: bins(lengths),
        JUDGED: bins({}),
        MEDIANS: words,
        PAIRS: similarities(means, words, [systems[:2]]),
        "bias": pd.DataFrame(holes, columns=list(bias.COLUMNS)),
        "efficiency": efficiency([read_json(write_latency(folder, name, "scifact")) for name in systems[:2]], PAPER),
    }
    for name, table in tables.items():
        table.to_csv(paper / f"{name}.csv", index=False)
    write_findings(folder=str(paper), findings_path=str(paper / "findings.csv"))
    for name in FIGURES:
        (paper / f"{name}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><desc>{name}</desc></svg>')
        (paper / f"{name}.pdf").write_bytes(b"%PDF-1.4\n")
    write_json(folder / "manifest.json", MANIFEST)
    paths = {"page_path": paper / "index.html", "record_path": paper / "index.json", "manifest_path": folder / "manifest.json"}
    written = {name: str(path) for name, path in paths.items()}
    write_paper(folder=str(paper), other_paths=[], **written, job=Job(folder, "write_beir_paper"))
    return (paper / "index.html").read_text(encoding="utf-8")


def test_every_part_is_linked_and_there_and_recorded(tmp_path: Path) -> None:
    links = set(re.findall(r'href="([^"#]+)"', write(tmp_path))) - {"data:,"}
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "svg")}
    assert {f"{name}.csv" for name in TABLES} | figures < links
    assert [link for link in links if not (tmp_path / "beir_paper" / link).is_file()] == []
    outputs = read_json(tmp_path / "beir_paper/index.json")["outputs"]
    assert set(outputs) == {f"beir_paper/{link}" for link in links} - {"beir_paper/index.json"} | {"beir_paper/index.html"}
    assert outputs["beir_paper/table-1.csv"] == file_digest(tmp_path / "beir_paper/table-1.csv")


def test_the_page_says_what_is_missing_and_who_represents_a_system_of_the_paper(tmp_path: Path) -> None:
    page = write(tmp_path)
    shown = [
        "<dt>BM25</dt><dd>represented by bm25-multifield</dd>",
        "980 further judgements",
        "Table 3, latency and index size: its values are as quoted elsewhere",
        "2 threads of a processor",
        "<li>Printed values: table 1, a row a dataset; from one transcription.</li>",
        "holds: BM25+CE 450; DPR 19; ANCE 20; TAS-B 14; GenQ 14",
        "not public, so it needs a copy of one&#39;s own",
    ]
    assert [text for text in shown if text not in page] == []
    assert HOSTILE not in page


@pytest.fixture
def table(tmp_path: Path) -> pd.DataFrame:
    both = {"cuda": latency(1.5, 200), "cpu": latency(40.0, 150)}
    paths = [
        write_latency(tmp_path, "ours", "scifact", 5183, devices=both, reasons={}, gpu="a GPU"),
        write_latency(tmp_path, "bm25", "scifact", 5183),
        write_latency(tmp_path, "busy", "scifact", 5183, load={"before": 30.2, "after": 24.0, "cores": 2}),
        write_latency(tmp_path, "theirs", "scifact", 5183, devices={}, reasons={"cpu": "it was made elsewhere"}),
    ]
    written = tmp_path / "efficiency.csv"
    tabulate_efficiency(latency_paths=[str(path) for path in paths], table_path=str(written))
    return pd.read_csv(written).set_index("system")


def test_systems_of_the_paper_are_quoted_and_ours_have_medians_and_percentiles(table: pd.DataFrame) -> None:
    quoted = table[table["source"] == QUOTED]
    assert set(quoted.index) == {*PAPER.systems.values(), "ColBERT"}
    assert set(quoted["documents"]) == {1_000_000}
    assert quoted.loc["BM25+CE", ["gpu_ms", "cpu_ms", "index_bytes"]].tolist() == [450, 6100, 400_000_000]
    assert quoted.loc["BM25", ["gpu_ms", "gpu_p95_ms", "threads"]].isna().all()
    assert quoted.loc["SPARTA", "index_bytes"] == 12_000_000_000
    ours = table.loc["ours"]
    assert ours[["gpu_ms", "gpu_p95_ms", "cpu_ms", "cpu_p95_ms"]].tolist() == [1.5, 3.0, 40.0, 80.0]
    assert ours[["gpu_mean_ms", "cpu_mean_ms", "top_k"]].tolist() == [2.25, 60.0, 20]
    assert (ours["source"], ours["dataset"], ours["documents"], ours["queries"]) == ("here", "scifact", 5183, 150)
    assert (ours["index_bytes"], ours["threads"], ours["processor"], ours["gpu"]) == (1_500_000, 2, "a processor", "a GPU")
    assert (ours["load_per_core"], ours["busy"]) == (0.55, pytest.approx(np.nan, nan_ok=True))
    # Times of a busy machine are marked.
    assert table.loc["busy", ["cpu_ms", "load_per_core", "busy"]].tolist() == [3.0, 15.1, "busy"]
    # A time that is not there says why.
    assert table.loc["bm25", "note"] == "GPU: there is none here"
    assert pd.isna(table.loc["bm25", "gpu_ms"])
    assert table.loc["theirs", "note"] == "CPU: it was made elsewhere"
    assert table.loc["theirs", ["gpu_ms", "cpu_ms", "queries"]].isna().all()


def test_the_page_has_every_row_and_where_ours_were_measured(tmp_path: Path) -> None:
    table = efficiency([read_json(write_latency(tmp_path, "<b>", "scifact"))], PAPER)
    shown, notes = efficiency_table(table)
    assert tuple(table.columns) == COLUMNS
    assert [row[0].text for row in shown.rows][-1] == "<b>"
    assert len(shown.rows) == len(PAPER.systems) + 1 + 1
    assert notes == ["a: 2 threads of a processor; GPU: there is none here"]
    assert [cell.text for cell in shown.rows[-1]][-4:] == ["10.0", "5", "0.6", "0.0015"]


DESCRIBED = {
    "table-1.csv": (*corpus_tables.STATISTICS, *corpus_tables.BINS),
    "findings.csv": findings.COLUMNS,
    "similarities.csv": corpus_tables.SIMILARITIES,
    "bias.csv": bias.COLUMNS,
    "efficiency.csv": COLUMNS,
    "overlap.csv": overlap.COLUMNS,
}


def test_the_documentation_names_every_column_of_the_files() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    sections = re.findall(r"^## `beir_paper/(.*?)`(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    named = {path: set(re.findall(r"`(\w+)`", section)) for path, section in sections}
    for path, columns in DESCRIBED.items():
        assert {*columns} <= named[path], path
