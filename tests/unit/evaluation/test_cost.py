"""Costs of all jobs."""

from pathlib import Path

import pandas as pd
import pytest

from beirflow.core.records import Job, write_record
from beirflow.evaluation.cost import collect_costs
from cost_jobs import INDEX_BYTES, MADE, benchmark, costs
from results_writer import SECONDS, write_metrics


def test_stages_sum_up_forums_are_added_up_and_memory_is_the_most_of_any_job(tmp_path: Path) -> None:
    benchmark(tmp_path, "search_chunk/x/stack-b/chunk-1", 1000)
    table = costs(tmp_path)
    plain, stack = table.loc["plain"], table.loc["stack"]
    assert {stage: plain[f"{stage}_seconds"] for stage in SECONDS} == SECONDS
    assert plain["seconds"] == 1 + 2 + 4 + 8 + 16 + 32
    assert plain["documents_per_second"] == 100 / 4
    assert plain["index_bytes"] == INDEX_BYTES
    assert (plain["precision"], plain["devices"], plain["documents_reused"]) == ("float32", "a cpu", 5)
    assert (stack["documents"], stack["seconds"], stack["index_bytes"]) == (200, 126, 2 * INDEX_BYTES)
    assert (stack["documents_per_second"], stack["documents_reused"]) == (200 / 8, 10)
    assert stack["new_documents_per_second"] == (200 - 10) / 8
    assert stack["peak_memory_bytes"] == 1000 * 2**20
    assert plain["peak_memory_bytes"] == 2**20


@pytest.mark.parametrize("job", ["encode_chunk/x/stack-a/chunk-1", "merge_chunks/x/stack-a", "evaluate_run/x/stack-a"])
def test_memory_that_is_not_known_of_every_job_is_left_empty(tmp_path: Path, job: str) -> None:
    costs(tmp_path)
    (tmp_path / f"benchmarks/{job}.tsv").unlink()
    assert costs(tmp_path, benchmarks=False)["peak_memory_bytes"].isna().tolist() == [False, True]


def test_a_job_that_was_too_short_to_be_measured_and_a_chunk_that_is_no_more_do_not_count(tmp_path: Path) -> None:
    benchmark(tmp_path, "merge_chunks/x/plain", "NA")
    benchmark(tmp_path, "encode_chunk/x/plain/chunk-2", 5000)
    assert costs(tmp_path).loc["plain", "peak_memory_bytes"] == 2**20


def test_a_run_of_several_devices_names_them_and_one_that_says_nothing_of_an_index_has_no_bytes_of_it(tmp_path: Path) -> None:
    assert costs(tmp_path, record={"made": {"device": ["cpu", "a gpu"]}}).loc["plain", "devices"] == "a gpu, cpu"
    table = costs(tmp_path, benchmarks=False, record={})
    assert table[["index_bytes", "precision", "devices"]].isna().all(axis=None)
    assert table["seconds"].tolist() == pytest.approx([63, 126])


def test_the_load_is_the_highest_of_a_job_that_has_one(tmp_path: Path) -> None:
    assert costs(tmp_path)["load_per_core"].isna().all()
    benchmark(tmp_path, "evaluate_run/x/plain", load_per_core=0.5)
    benchmark(tmp_path, "encode_chunk/x/stack-b/chunk-1", load_per_core=7.25)
    benchmark(tmp_path, "encode_chunk/x/stack-a/chunk-1", load_per_core=0.25)
    benchmark(tmp_path, "encode_chunk/x/plain/chunk-0", load_per_core="")
    assert costs(tmp_path)["load_per_core"].tolist() == [0.5, 7.25]


def test_columns_of_extensions_are_between_what_was_measured_and_what_computed(tmp_path: Path) -> None:
    plain = costs(tmp_path)
    table = costs(tmp_path, additions={"cost_jobs:counted_jobs": {"factor": 10}})
    assert table[["jobs", "files"]].to_numpy().tolist() == [[70, 7], [140, 7]]
    place = list(plain).index("load_per_core") + 1
    assert list(table) == [*list(plain)[:place], "jobs", "files", *list(plain)[place:]]
    assert list(plain)[place] == "precision"


def test_seconds_that_a_source_prints_stand_beside_ours(tmp_path: Path) -> None:
    means, _ = write_metrics(tmp_path, "contriever", "nfcorpus", {"NDCG@10": [0.1] * 4})
    record = str(tmp_path / "runs/contriever/nfcorpus.json")
    write_record(record, Job(tmp_path, "merge_chunks/contriever/nfcorpus"), inputs={}, outputs={}, jobs=[], **MADE)
    paths = {"means_paths": [means], "record_paths": [record], "costs_path": str(tmp_path / "cost.csv")}
    collect_costs(**paths, rows={"nfcorpus": ["nfcorpus"]}, job=Job(tmp_path), additions={})
    row = pd.read_csv(tmp_path / "cost.csv").iloc[0]
    assert (row["published_seconds"], row["published_source"]) == (23, "rtx3090")
