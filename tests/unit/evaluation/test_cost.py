"""What everything cost."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from beirflow.evaluation.cost import collect_costs
from beirflow.files.records import write_json
from results_writer import SECONDS, write_metrics

JOBS = ("encode_queries/x/{}.tsv", "merge_chunks/x/{}.tsv", "evaluate_run/x/{}.tsv")
CHUNK_JOBS = ("encode_chunk/x/{}/chunk-{}.tsv", "search_chunk/x/{}/chunk-{}.tsv")


def benchmark(folder: Path, name: str, rss: float | str = 1.0) -> None:
    path = folder / "benchmarks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\tmax_rss\n1.5\t0:00:01\t{rss}\n")


def costs(folder: Path, *, benchmarks: bool = True, record: dict[str, Any] | None = None) -> pd.DataFrame:
    """A plain dataset and one of two forums, each in two chunks."""
    means_paths, record_paths = [], []
    for corpus in ("plain", "stack-a", "stack-b"):
        means_paths.append(write_metrics(folder, "x", corpus, {"NDCG@10": [0.1] * 4})[0])
        record_paths.append(str(folder / f"runs/{corpus}.json"))
        full = {"dim": 32, "precision": "float32", "devices": ["cpu"], "documents_taken_over": 5}
        write_json(record_paths[-1], (full if record is None else record) | {"from_sha256": {"chunks": ["", ""]}})
        if benchmarks:
            for name in [*JOBS, *(job.format("{}", chunk) for job in CHUNK_JOBS for chunk in (0, 1))]:
                if not (folder / "benchmarks" / name.format(corpus)).exists():
                    benchmark(folder, name.format(corpus))
    rows = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
    collect_costs(
        means_paths=means_paths,
        record_paths=record_paths,
        rows=rows,
        benchmarks_folder=str(folder / "benchmarks"),
        costs_path=str(folder / "cost.csv"),
    )
    return pd.read_csv(folder / "cost.csv").set_index("dataset")


def test_stages_sum_up_and_vectors_are_4_bytes_a_number(tmp_path: Path) -> None:
    plain = costs(tmp_path).loc["plain"]
    assert {stage: plain[f"{stage}_seconds"] for stage in SECONDS} == SECONDS
    assert plain["seconds"] == 1 + 2 + 4 + 8 + 16 + 32
    assert plain["documents_per_second"] == 100 / 4
    assert plain["vector_bytes"] == (100 + 4) * 32 * 4
    assert (plain["precision"], plain["devices"], plain["documents_taken_over"]) == ("float32", "cpu", 5)


def test_forums_are_added_up_and_memory_is_the_most_of_any_job(tmp_path: Path) -> None:
    benchmark(tmp_path, "search_chunk/x/stack-b/chunk-1.tsv", 1000)
    table = costs(tmp_path)
    stack = table.loc["stack"]
    assert (stack["documents"], stack["seconds"], stack["vector_bytes"]) == (200, 126, 2 * 104 * 32 * 4)
    assert stack["documents_per_second"] == 200 / 8
    assert stack["peak_memory_bytes"] == 1000 * 2**20
    assert table.loc["plain", "peak_memory_bytes"] == 2**20


def test_memory_that_is_not_known_of_every_job_is_left_empty(tmp_path: Path) -> None:
    costs(tmp_path)
    (tmp_path / "benchmarks/encode_chunk/x/stack-a/chunk-1.tsv").unlink()
    table = costs_again(tmp_path)
    assert table["peak_memory_bytes"].isna().tolist() == [False, True]


def costs_again(folder: Path) -> pd.DataFrame:
    return costs(folder, benchmarks=False)


def test_a_job_that_was_too_short_to_be_measured_does_not_count(tmp_path: Path) -> None:
    benchmark(tmp_path, "merge_chunks/x/plain.tsv", "NA")
    assert costs(tmp_path).loc["plain", "peak_memory_bytes"] == 2**20


def test_benchmarks_of_chunks_that_are_no_more_do_not_count(tmp_path: Path) -> None:
    benchmark(tmp_path, "encode_chunk/x/plain/chunk-2.tsv", 5000)
    assert costs(tmp_path).loc["plain", "peak_memory_bytes"] == 2**20


def test_a_run_without_vectors_has_no_bytes_of_them(tmp_path: Path) -> None:
    table = costs(tmp_path, benchmarks=False, record={})
    assert table[["vector_bytes", "precision", "devices"]].isna().all(axis=None)
    assert table["seconds"].tolist() == pytest.approx([63, 126])
