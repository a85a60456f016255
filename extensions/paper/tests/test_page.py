"""The page of the paper: every part is on it, with what is missing and what may not be compared."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json, write_json
from beirflow.extensions.paper.bias import COLUMNS as BIAS_COLUMNS
from beirflow.extensions.paper.corpus_tables import JUDGED, MEDIANS, RETRIEVED, bins, medians, table_1
from beirflow.extensions.paper.efficiency import COLUMNS, QUOTED, efficiency, tabulate_efficiency
from beirflow.extensions.paper.evidence import Evidence, Scores
from beirflow.extensions.paper.findings import claims
from beirflow.extensions.paper.page import efficiency_table, write_paper
from beirflow.extensions.paper.printed_values import load_paper
from beirflow.extensions.paper.registry import FIGURES, SCORE_TABLES, TABLES
from beirflow.extensions.paper.score_tables import SIMILARITIES, against_baseline, table_2
from beirflow.report.analysis.lengths import histogram
from latencies import latency, write_latency

PAPER = load_paper()
HOSTILE = "<script>alert(1)</script>"
MANIFEST = {"written": "2026-01-02T03:04:05+00:00"}


def write(folder: Path, systems: tuple[str, ...] = ("bm25", "tas-b", HOSTILE)) -> str:
    """Tables of results that are made up, and figures that are none."""
    paper = folder / "paper"
    paper.mkdir()
    values = {(system, name): 0.1 * i for i, system in enumerate(systems, 1) for name in ("scifact", "webis-touche2020", "own")}
    ours = Scores(values, "NDCG@10", PAPER.in_domain)
    lengths = {
        row: [{"all documents": histogram(np.arange(9)), **dict.fromkeys(systems, histogram(np.arange(3)))}]
        for row in ("scifact", "own")
    }
    tables = {name: table_2(Scores(values, measure, PAPER.in_domain), PAPER) for name, measure in SCORE_TABLES.items()}
    tables |= {
        "table-1": table_1({}, PAPER),
        "claims": claims(Evidence(ours.named(PAPER.standing(ours.systems)), PAPER), PAPER),
        "against-baseline": against_baseline(ours, {}, systems[0], PAPER),
        "overlap": pd.DataFrame([("scifact", "own", 0.5)], columns=["dataset_a", "dataset_b", "similarity"]),
        RETRIEVED: bins(lengths),
        JUDGED: bins({}),
        MEDIANS: medians({RETRIEVED: lengths, JUDGED: {}}, systems),
        "bias": pd.DataFrame(
            [{"dataset": "scifact", "system": "bm25", "pooled": True, "hole": 0.25}], columns=list(BIAS_COLUMNS)
        ),
        "similarities": pd.DataFrame([("own", "bm25", "tas-b", 0.1, 0.2, 0.1, None, 1, 1)], columns=list(SIMILARITIES)),
        "efficiency": efficiency([read_json(write_latency(folder, name, "scifact")) for name in systems[:2]], PAPER),
    }
    for name, table in tables.items():
        table.to_csv(paper / f"{name}.csv", index=False)
    for name in FIGURES:
        (paper / f"{name}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><desc>{name}</desc></svg>')
        (paper / f"{name}.pdf").write_bytes(b"%PDF-1.4\n")
    write_json(folder / "manifest.json", MANIFEST)
    paths = {"page_path": paper / "index.html", "record_path": paper / "index.json", "manifest_path": folder / "manifest.json"}
    written = {name: str(path) for name, path in paths.items()}
    write_paper(folder=str(paper), other_paths=[], **written, job=Job(folder, "write_paper"))
    return (paper / "index.html").read_text(encoding="utf-8")


def test_every_part_is_linked_and_there_and_recorded(tmp_path: Path) -> None:
    links = set(re.findall(r'href="([^"#]+)"', write(tmp_path))) - {"data:,"}
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "svg")}
    assert {f"{name}.csv" for name in TABLES} | figures < links
    assert [link for link in links if not (tmp_path / "paper" / link).is_file()] == []
    outputs = read_json(tmp_path / "paper/index.json")["outputs"]
    assert set(outputs) == {f"paper/{link}" for link in links} - {"paper/index.json"} | {"paper/index.html"}
    assert outputs["paper/table-2.csv"] == file_digest(tmp_path / "paper/table-2.csv")


def test_the_page_says_what_is_missing_and_what_may_not_be_compared(tmp_path: Path) -> None:
    page = write(tmp_path)
    shown = [
        "<dt>BM25</dt><dd>represented by bm25</dd>",
        "Systems of the paper without results: DeepCT, SPARTA, docT5query, DPR, ANCE, GenQ, ColBERT, BM25+CE.",
        "Datasets that are not public, without results: BioASQ, Signal-1M, TREC-NEWS, Robust04.",
        "980 further judgements",
        "Table 3, latency and index size: its values are as quoted elsewhere",
        "2 threads of a processor",
        "<li>Printed values: table 1, a row a dataset; from one transcription.</li>",
        "The paper says 11 (doct5query above), but its table gives 12.",
        "over scifact, webis-touche2020, own",
        "Printed scores of ColBERT: ColBERT ranked only the candidates that an approximate index found",
    ]
    assert [text for text in shown if text not in page] == []
    missing = re.search(r"Datasets of the paper without results: ([^<]*)\.</li>", page)
    assert len(missing[1].split(", ")) == 15 - 2
    assert HOSTILE not in page
    # The best of a row is marked among the printed and among ours.
    row = page.partition('class="stub">scifact')[2].partition("</tr>")[0]
    assert re.findall(r'best"[^>]*>([\d.]+)', row) == ["0.688", "0.3000"]


@pytest.mark.parametrize("name", ["note", "best_here"])
def test_a_system_may_have_the_name_of_a_column(tmp_path: Path, name: str) -> None:
    assert "0.3000" in write(tmp_path, ("bm25", "tas-b", name))


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
    assert set(quoted.index) == {PAPER.label(name) for name in PAPER.systems}
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
    assert len(shown.rows) == len(PAPER.systems) + 1
    assert notes == ["a: 2 threads of a processor; GPU: there is none here"]
    assert [cell.text for cell in shown.rows[-1]][-4:] == ["10.0", "5", "0.6", "0.0015"]
