"""Costs of all jobs."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.core.records import Job, write_record
from beirflow.evaluation.cost import collect_costs
from results_writer import SECONDS, write_metrics

INDEX_BYTES = 12_345
MADE: dict[str, Any] = {"made": {"precision": "float32", "device": "a cpu"}, "counts": {"documents_reused": 5}}
MADE |= {"sizes": {"queries": 1, "index": INDEX_BYTES}}
"""The record of a run."""


def jobs_of(corpus: str) -> list[str]:
    """The jobs before the merge, of a corpus in two chunks."""
    chunks = [f"{rule}/x/{corpus}/chunk-{chunk}" for rule in ("encode_chunk", "search_chunk") for chunk in (0, 1)]
    return [f"encode_queries/x/{corpus}", *chunks]


def benchmark(folder: Path, job: str, rss: float | str = 1.0) -> None:
    path = folder / f"benchmarks/{job}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\tmax_rss\n1.5\t0:00:01\t{rss}\n")


def costs(
    folder: Path, *, benchmarks: bool = True, record: dict[str, Any] | None = None, carbon_intensity: float | None = None
) -> pd.DataFrame:
    """A plain dataset and one of two forums, each in two chunks."""
    means_paths, record_paths = [], []
    for corpus in ("plain", "stack-a", "stack-b"):
        means_paths.append(write_metrics(folder, "x", corpus, {"NDCG@10": [0.1] * 4})[0])
        record_paths.append(str(folder / f"runs/x/{corpus}.json"))
        job, said = Job(folder, f"merge_chunks/x/{corpus}"), MADE if record is None else record
        write_record(record_paths[-1], job, inputs={}, outputs={}, jobs=jobs_of(corpus), **said)
        for name in [*jobs_of(corpus), job.name, f"evaluate_run/x/{corpus}"] if benchmarks else ():
            if not (folder / f"benchmarks/{name}.tsv").exists():
                benchmark(folder, name)
    rows = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
    paths = {"means_paths": means_paths, "record_paths": record_paths, "costs_path": str(folder / "cost.csv")}
    collect_costs(**paths, rows=rows, job=Job(folder), carbon_intensity=carbon_intensity)
    return pd.read_csv(folder / "cost.csv").set_index("dataset")


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


ALL_JOBS = [
    job
    for corpus in ("plain", "stack-a", "stack-b")
    for job in (*jobs_of(corpus), f"merge_chunks/x/{corpus}", f"evaluate_run/x/{corpus}")
]


def count_energy(
    folder: Path, *jobs: str, processor: str = "10", gpu: str = "2", own: str = "3", busy: str = "4", load: str = "0.5"
) -> None:
    for job in jobs or ALL_JOBS:
        path = folder / f"energy/{job}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"processor_joules\tgpu_joules\town_seconds\tbusy_seconds\tload_per_core\n{processor}\t{gpu}\t{own}\t{busy}\t{load}\n"
        )


def test_energy_is_the_sum_over_all_jobs_with_the_share_of_processor_time_that_was_theirs(tmp_path: Path) -> None:
    count_energy(tmp_path)
    table = costs(tmp_path, carbon_intensity=360)
    assert table["machine_joules"].tolist() == [70, 140]
    assert table["processor_joules"].tolist() == [52.5, 105]
    assert table["gpu_joules"].tolist() == [14, 28]
    assert table["processor_share"].tolist() == [0.75, 0.75]
    assert table["co2_grams"].tolist() == pytest.approx([66.5 * 360 / 3.6e6, 133 * 360 / 3.6e6])
    assert table["carbon_intensity"].tolist() == [360, 360]
    assert costs(tmp_path)[["co2_grams", "carbon_intensity"]].isna().all(axis=None)
    assert costs(tmp_path, carbon_intensity=0)["co2_grams"].tolist() == [0, 0]


def test_energy_that_is_not_known_of_every_job_is_left_empty(tmp_path: Path) -> None:
    count_energy(tmp_path)
    count_energy(tmp_path, "search_chunk/x/stack-b/chunk-1", gpu="")
    count_energy(tmp_path, "encode_chunk/x/plain/chunk-0", processor="", busy="")
    table = costs(tmp_path, carbon_intensity=360)
    assert table["processor_joules"].isna().tolist() == [True, False]
    assert table["gpu_joules"].isna().tolist() == [False, True]
    assert table["processor_share"].isna().tolist() == [True, False]
    assert table["co2_grams"].isna().all()
    (tmp_path / "energy/evaluate_run/x/stack-a.tsv").unlink()
    assert costs(tmp_path)["processor_joules"].isna().all()
    for content in ("", "processor_joules\tgpu_joules\n", "processor_joules\nmany\n", "\0"):  # cut or damaged
        count_energy(tmp_path)
        (tmp_path / "energy/evaluate_run/x/stack-a.tsv").write_text(content)
        assert costs(tmp_path)["processor_joules"].tolist() == pytest.approx([52.5, float("nan")], nan_ok=True)


def test_the_load_is_the_highest_of_a_job_that_has_one(tmp_path: Path) -> None:
    assert costs(tmp_path)["load_per_core"].isna().all()
    count_energy(tmp_path)
    count_energy(tmp_path, "encode_chunk/x/stack-b/chunk-1", load="7.25")
    count_energy(tmp_path, "encode_chunk/x/plain/chunk-0", load="")
    assert costs(tmp_path)["load_per_core"].tolist() == [0.5, 7.25]


def test_a_share_is_never_above_one_though_the_kernel_counts_coarsely(tmp_path: Path) -> None:
    count_energy(tmp_path, own="0.013", busy="0.01")
    assert costs(tmp_path)["processor_share"].tolist() == [1, 1]
    count_energy(tmp_path, own="0.001", busy="0")
    assert costs(tmp_path)["processor_share"].isna().all()


def test_jobs_side_by_side_add_up_to_no_more_than_the_machine_used(tmp_path: Path) -> None:
    # Four jobs at a time: each sees all of the energy of the machine, and a quarter of the processor time.
    count_energy(tmp_path, processor="100", gpu="0", own="1", busy="4")
    table = costs(tmp_path)
    assert table.loc["plain", "machine_joules"] == 7 * 100
    assert table.loc["plain", "processor_joules"] == 7 * 100 / 4


def test_seconds_that_a_source_prints_stand_beside_ours(tmp_path: Path) -> None:
    means, _ = write_metrics(tmp_path, "contriever", "nfcorpus", {"NDCG@10": [0.1] * 4})
    record = str(tmp_path / "runs/contriever/nfcorpus.json")
    write_record(record, Job(tmp_path, "merge_chunks/contriever/nfcorpus"), inputs={}, outputs={}, jobs=[], **MADE)
    paths = {"means_paths": [means], "record_paths": [record], "costs_path": str(tmp_path / "cost.csv")}
    collect_costs(**paths, rows={"nfcorpus": ["nfcorpus"]}, job=Job(tmp_path))
    row = pd.read_csv(tmp_path / "cost.csv").iloc[0]
    assert (row["published_seconds"], row["published_source"]) == (23, "rtx3090")
