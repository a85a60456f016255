"""The profile for SLURM on a real cluster of one node: same results as a local run, whatever happens to jobs."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from slurm_cluster import Cluster, wait_for
from workflow_runs import REPOSITORY, Workflow

PROFILE = REPOSITORY / "workflow/profiles/slurm"

# The tests ask for the state of jobs more often than the profile does, and nothing else differs.
ASK_OFTEN = ["--slurm-init-seconds-before-status-checks", "2"]
RESULTS = ["runs/tiny/small.parquet", "metrics/tiny/small.parquet", "corpora/small/documents.parquet"]

# Columns of the summary that hold times, or the digest of a file that holds some.
TIMES = ["documents_per_second", "seconds", "metrics_sha256"]


def arguments(target: str = "results/summary.csv", profile: Path = PROFILE) -> list[str]:
    return [target, "--profile", str(profile), *ASK_OFTEN]


def changed_profile(folder: Path, rule: str, resources: Mapping[str, Any]) -> Path:
    """A copy of the profile in which a rule asks for something else."""
    profile = yaml.safe_load((PROFILE / "profile.yaml").read_text())
    profile["set-resources"][rule] |= resources
    folder.mkdir()
    (folder / "profile.yaml").write_text(yaml.safe_dump(profile))
    return folder


def begin(workflow: Workflow, *words: str) -> subprocess.Popen[bytes]:
    """Start a run in the background; its output goes to output.txt."""
    with (workflow.folder / "output.txt").open("wb") as output:
        return subprocess.Popen(
            workflow.command(*words, cores=None),
            cwd=workflow.repository,
            env={**os.environ, **workflow.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(workflow: Workflow, process: subprocess.Popen[bytes], seconds: float = 600) -> str:
    """Wait for a run that was started in the background and give back what it printed."""
    process.wait(seconds)
    output = (workflow.folder / "output.txt").read_text()
    assert process.returncode == 0, output
    return output


def assert_same_results(workflow: Workflow, local: Workflow) -> None:
    for name in RESULTS:
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


def test_the_demo_on_slurm_gives_the_results_of_a_local_run(cluster: Cluster, tmp_path: Path) -> None:
    config = yaml.safe_load((REPOSITORY / "tests/data/demo.yaml").read_text())
    runs = {name: Workflow(tmp_path / name, config) for name in ("local", "slurm")}
    for workflow in runs.values():
        shutil.copytree(REPOSITORY / "tests/data", workflow.folder / "tests/data")
    before = len(cluster.ended())
    runs["slurm"].environment = cluster.environment
    output = runs["slurm"].run(*arguments("results/demo/summary.csv"), cores=None)
    runs["local"].run("results/demo/summary.csv")

    ended = cluster.ended()[before:]
    assert {job["JobState"] for job in ended} == {"COMPLETED"}
    # What runs on the submitting host is not there; everything else is, once.
    assert len(ended) == 4 + 4 + 6 + 6 + 4 + 4, "prepare, queries, chunks, searches, merges, evaluations"
    # A chunk that is ready when no other is goes alone; the others go as arrays, by SLURM's record, the plugin's and the logs.
    tasks = [job["ArrayTaskId"] for job in ended if "ArrayJobId" in job]
    arrays = re.findall(r"array job with Snakemake IDs ([\d,]+) and SLURM job ID \d+", output)
    logs = runs["slurm"].folder / ".snakemake/slurm_logs"
    of_tasks = [path.parent.name for path in logs.rglob("*.log") if re.fullmatch(r"\d+_\d+", path.stem)]
    assert len(tasks) == sum(len(ids.split(",")) for ids in arrays) == len(of_tasks) >= 6
    assert set(of_tasks) <= {"rule_encode_chunk", "rule_search_chunk"}
    assert len(list(logs.rglob("*.log"))) == len(ended)

    files = sorted(
        path.relative_to(runs["local"].folder)
        for folder in ("runs", "metrics", "corpora", "embeddings")
        for suffix in ("parquet", "npy")
        for path in (runs["local"].folder / "results/demo" / folder).rglob(f"*.{suffix}")
    )
    assert len(files) == 4 * 3 + 4 + 4 + 4 + 6
    for path in files:
        assert (runs["slurm"].folder / path).read_bytes() == (runs["local"].folder / path).read_bytes(), path
    summaries = [pd.read_csv(run.result("demo/summary.csv")).drop(columns=TIMES) for run in runs.values()]
    pd.testing.assert_frame_equal(*summaries, check_exact=True)


def test_tasks_of_an_array_do_not_depend_on_the_first_one(
    cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str]
) -> None:
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=drain", "reason=test")
    process = begin(on_cluster, *arguments(), "--latency-wait", "2")
    # The node takes nothing after the corpus, so that the chunks wait in the queue.
    wait_for(lambda: bool(cluster.jobs("PENDING")), "a waiting job")
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=resume")
    wait_until_runs(cluster, "prepare_corpus")
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=drain", "reason=test")
    wait_for(lambda: list(cluster.jobs("PENDING").values()).count("encode_chunk") == 3, "three waiting chunks")
    first = min(job for job, rule in cluster.jobs("PENDING").items() if rule == "encode_chunk")
    cluster.call("scontrol", "hold", first)
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=resume")
    chunks = on_cluster.result("embeddings/tiny/small")
    wait_for(lambda: len(list(chunks.glob("chunk-*.json"))) == 2 and not cluster.jobs("RUNNING"), "the other two chunks")
    cluster.call("scontrol", "release", first)
    output = end(on_cluster, process)
    assert "Trying to restart job" not in output
    assert_same_results(on_cluster, finished_once[0])


def test_a_job_that_is_cancelled_runs_again(cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str]) -> None:
    process = begin(on_cluster, *arguments())
    cancelled = wait_until_runs(cluster, "encode_chunk")
    cluster.call("scancel", cancelled)
    output = end(on_cluster, process)
    assert "Trying to restart job" in output
    assert_same_results(on_cluster, finished_once[0])


def test_a_job_that_exceeds_its_memory_gets_more(
    cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str], tmp_path: Path
) -> None:
    profile = changed_profile(tmp_path / "profile", "prepare_corpus", {"mem_mb": "60 if attempt == 1 else 3000 * attempt"})
    before = len(cluster.ended())
    on_cluster.run(*arguments(profile=profile), cores=None)
    killed, repeated = cluster.ended()[before : before + 2]
    assert killed["JobState"] != "COMPLETED"
    assert "mem=60M" in killed["Tres"]
    assert repeated["JobState"] == "COMPLETED"
    assert "mem=6000M" in repeated["Tres"]
    assert_same_results(on_cluster, finished_once[0])


def test_a_drained_node_holds_jobs_back_until_it_is_resumed(
    cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str]
) -> None:
    process = begin(on_cluster, *arguments())
    wait_until_runs(cluster, "encode_chunk")
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=drain", "reason=test")
    wait_for(lambda: not cluster.jobs("RUNNING") and bool(cluster.jobs("PENDING")), "only waiting jobs")
    assert process.poll() is None
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=resume")
    end(on_cluster, process)
    assert_same_results(on_cluster, finished_once[0])


def test_jobs_of_a_node_that_fails_run_again(cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str]) -> None:
    process = begin(on_cluster, *arguments())
    wait_until_runs(cluster, "encode_chunk")
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=down", "reason=test")
    wait_for(lambda: not cluster.jobs("RUNNING"), "no running jobs")
    cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=resume")
    end(on_cluster, process)
    assert_same_results(on_cluster, finished_once[0])


def test_a_submitting_process_that_is_killed_can_be_started_again(
    cluster: Cluster, on_cluster: Workflow, finished_once: tuple[Workflow, str]
) -> None:
    process = begin(on_cluster, *arguments())
    wait_until_runs(cluster, "encode_chunk")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    cluster.cancel_all()
    on_cluster.run("--unlock")
    on_cluster.run(*arguments(), cores=None)
    assert_same_results(on_cluster, finished_once[0])
