"""The benchmark of a job has Snakemake's columns and the job's own time and memory."""

import os
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from snakemake.benchmark import BenchmarkRecord

from beirflow.run.benchmark import measured
from forks import run_in_fork

MEBIBYTES = 300


def test_time_and_peak_memory_are_those_of_the_job(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks/rule/a.tsv"

    def work() -> None:
        sys.stdout.write(f"{psutil.Process().memory_info().rss / 2**20}")  # what a fork shares with this process counts too
        with measured(path):
            taken = bytearray(os.urandom(1 << 20) * MEBIBYTES)
            del taken
            began = time.process_time()
            while time.process_time() < began + 0.3:
                pass
            time.sleep(0.3)

    done = run_in_fork(work)
    assert (done.returncode, done.stderr) == (0, "")
    before = float(done.stdout)
    (row,) = pd.read_csv(path, sep="\t").to_dict("records")
    assert list(row) == [*BenchmarkRecord.get_header(extended_fmt=False), "load_per_core"]
    assert 0.3 <= row["cpu_time"] <= row["s"] - 0.3
    assert row["mean_load"] == pytest.approx(100 * row["cpu_time"] / row["s"], rel=0.05)
    assert before + MEBIBYTES <= row["max_rss"] < before + 3 * MEBIBYTES  # twice: the random bytes, and their copy


def test_a_job_that_fails_has_no_benchmark_not_even_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks/a.tsv"
    with measured(path):
        pass
    assert path.exists()
    with pytest.raises(ZeroDivisionError), measured(path):
        1 / 0  # noqa: B018
    assert not path.exists()
