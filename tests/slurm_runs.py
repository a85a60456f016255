"""Runs that submit their jobs to a cluster of the tests, and what is expected of them."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from beirflow.run.results_lock import JOB_BYTES, LOCK
from faults_at_work import printed, start
from slurm_cluster import Cluster, wait_for
from workflow_runs import REPOSITORY, Workflow

PROFILE = REPOSITORY / "workflow/profiles/slurm"
CORPUS = [f"corpora/small/{name}.parquet" for name in ("documents", "queries", "qrels")]
STATISTICS = ["postings/lucene-english/small/statistics.parquet"]
CHUNKS = [f"postings/lucene-english/small/chunk-{i}.arrow" for i in range(2)]


def arguments(*targets: str, profile: Path = PROFILE) -> list[str]:
    """Words of the command line that submit what makes some results."""
    return [*(f"results/{target}" for target in targets), "--profile", str(profile)]


def changed_profile(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of the profile with something else in it."""
    profile = yaml.safe_load((PROFILE / "profile.yaml").read_text())
    change(profile)
    folder.mkdir()
    (folder / "profile.yaml").write_text(yaml.safe_dump(profile))
    return folder


def begin(workflow: Workflow, *words: str) -> subprocess.Popen[bytes]:
    """Start a run in the background, as the profile says."""
    return start(workflow, *words, cores=None)


def begin_waiting(cluster: Cluster, workflow: Workflow, *words: str) -> subprocess.Popen[bytes]:
    """Start a run that makes the chunks, which wait for nodes that take jobs."""
    forget(workflow, CHUNKS)
    cluster.drain_nodes()
    process = begin(workflow, *arguments(*CHUNKS), *words)
    wait_for(lambda: list(cluster.jobs("PENDING").values()) == ["index_chunk"] * 2, "two waiting chunks")
    return process


def end(workflow: Workflow, process: subprocess.Popen[bytes], seconds: float = 300) -> str:
    """Wait for a run that was started in the background and give back what it printed."""
    process.wait(seconds)
    assert process.returncode == 0, printed(workflow)
    return printed(workflow)


def forget(workflow: Workflow, results: list[str]) -> None:
    """Remove results, so that they are made again."""
    for name in results:
        workflow.result(name).unlink()


def assert_same(workflow: Workflow, local: Workflow, results: list[str]) -> None:
    """The results are those of the local run, byte by byte, and nothing is left over."""
    for name in results:
        assert workflow.result(name).read_bytes() == local.result(name).read_bytes(), name
    assert not [path for path in workflow.result("").rglob("*") if ".partial" in path.name]


def wait_until_runs(cluster: Cluster, rule: str) -> str:
    """SLURM's id of a running job of a rule."""
    found: list[str] = []

    def runs() -> bool:
        found.extend(job for job, name in cluster.jobs("RUNNING").items() if name == rule)
        return bool(found)

    wait_for(runs, f"a running job of {rule}")
    return found[0]


def slow_down(workflow: Workflow) -> None:
    """Let every job hold the right to write for some seconds before it goes on."""
    workflow.environment["PYTHONPATH"] += f":{REPOSITORY}/tests/slow_jobs"


def wait_for_writer(workflow: Workflow, run: subprocess.Popen[bytes]) -> int:
    """The process of a job of a run, once one holds the right to write its results."""
    wait_for(lambda: writer(workflow) not in (0, run.pid), "a job that has the right to write")
    return writer(workflow)


def writer(workflow: Workflow) -> int:
    """The process of a job that holds the right to write its results; 0 if none does."""
    lock = workflow.result(f"logs/{LOCK}").stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        _, _, _, _, process, file, start, _ = line.split()
        if file.endswith(f":{lock}") and int(start) >= JOB_BYTES:
            return int(process)
    return 0
