"""Energy and emissions in the costs, from the tables of counters of all jobs."""

from pathlib import Path

import pandas as pd
import pytest

import cost_jobs
from beirflow.extensions.energy import COLUMNS, EXTENSION
from cost_jobs import ALL_JOBS

ADDED = EXTENSION.additions["collect_costs"]


def costs(folder: Path, carbon_intensity: float | None = None) -> pd.DataFrame:
    return cost_jobs.costs(folder, additions={ADDED.function: {"carbon_intensity": carbon_intensity}})


def count_energy(folder: Path, *jobs: str, processor: str = "10", gpu: str = "2", own: str = "3", busy: str = "4") -> None:
    for job in jobs or ALL_JOBS:
        path = folder / f"energy/{job}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"processor_joules\tgpu_joules\town_seconds\tbusy_seconds\n{processor}\t{gpu}\t{own}\t{busy}\n")


def test_energy_is_the_sum_over_all_jobs_with_the_share_of_processor_time_that_was_theirs(tmp_path: Path) -> None:
    count_energy(tmp_path)
    table = costs(tmp_path, carbon_intensity=360)
    assert table["machine_joules"].tolist() == [70, 140]
    assert table["processor_joules"].tolist() == [52.5, 105]
    assert table["gpu_joules"].tolist() == [14, 28]
    assert table["processor_share"].tolist() == [0.75, 0.75]
    assert table["co2_grams"].tolist() == pytest.approx([66.5 * 360 / 3.6e6, 133 * 360 / 3.6e6])
    assert table["carbon_intensity"].tolist() == [360, 360]
    assert list(table)[-len(COLUMNS) - 4 :] == [*COLUMNS, "precision", "devices", "published_seconds", "published_source"]
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
