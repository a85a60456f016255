"""The profile for SLURM on a real cluster of several nodes: same results as a local run, whatever happens to jobs.

Most tests start from a finished local run of BM25, without the files of the step that something happens to, and run that step
alone: a job of SLURM starts Snakemake, two seconds of a core, and one that encodes would start torch too.
"""

import os
import random
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from faults_at_work import printed
from slurm_cluster import Cluster, wait_for
from slurm_files import NODES
from slurm_runs import (
    CHUNKS,
    CORPUS,
    STATISTICS,
    arguments,
    assert_same,
    begin,
    begin_waiting,
    changed_profile,
    end,
    forget,
    slow_down,
    wait_for_writer,
    wait_until_runs,
)
from workflow_runs import SNAKEMAKE, Workflow

# Columns of the summary that hold times, or the digest of a file that holds some.
TIMES = ["documents_per_second", "seconds", "metrics_sha256"]

QUESTIONS_SECONDS = 30
"""Enough for the five questions after which the plugin alone forgets its jobs."""

OUTAGES_SECONDS = (2, 30, 75)

FIRST_QUESTION = "beirflow-slurm-init-seconds-before-status-checks"


def own_log(workflow: Workflow) -> str:
    """Return what Snakemake wrote into its own log of the last run."""
    logs = (workflow.folder / ".snakemake/log").glob("*.snakemake.log")
    return max(logs, key=lambda path: path.stat().st_mtime).read_text()


def restarts(workflow: Workflow) -> int:
    """Count the jobs that the last run started again."""
    return own_log(workflow).count("Trying to restart job")


def test_a_whole_run_on_several_nodes_gives_the_results_of_a_local_run(
    cluster: Cluster, lexical: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    """A job that exceeds its memory gets more, and a task that is cancelled runs again."""
    lexical.config["chunk_documents"] = 15  # two chunks, of which the run does not depend
    lexical.submit_to(cluster.environment)
    little = {"mem_mb": "60 if attempt == 1 else 3000 * attempt", "gpu": 1}
    profile = changed_profile(tmp_path / "profile", lambda profile: profile["set-resources"]["prepare_corpus"].update(little))
    before = len(cluster.ended())
    process = begin(lexical, *arguments("summary.csv", profile=profile))
    cancelled = wait_until_runs(cluster, "index_chunk")
    cluster.call("scancel", cancelled)
    end(lexical, process)

    assert restarts(lexical) == 2
    ended = cluster.ended()[before:]
    killed, repeated, *others = ended
    assert killed["JobState"] != "COMPLETED"
    assert ["mem=60M" in killed["TRES"], "mem=6000M" in repeated["TRES"]] == [True, True]
    # As the profile has it for rules that encode.
    assert {job["TresPerJob"] for job in (killed, repeated)} == {"gres:gpu:1"}
    states = Counter(job["JobState"] for job in (repeated, *others))
    # What runs on the submitting host is not there; everything else is, once.
    assert states == {"COMPLETED": 1 + 2 + 1 + 2 + 1 + 1, "CANCELLED": 1}, (
        "prepare, chunks, statistics, searches, merge, evaluation"
    )
    assert cluster.describe(cancelled)["JobState"] == "CANCELLED"
    # Chunks that are ready together go as an array: by SLURM's record, the plugin's and the logs. They run on several nodes.
    tasks = [job["ArrayTaskId"] for job in ended if "ArrayJobId" in job]
    arrays = re.findall(r"array job with Snakemake IDs ([\d,]+) and SLURM job ID \d+", own_log(lexical))
    logs = lexical.folder / ".snakemake/slurm_logs"
    of_tasks = [path.parent.name for path in logs.rglob("*.log") if re.fullmatch(r"\d+_\d+", path.stem)]
    assert len(tasks) == sum(len(ids.split(",")) for ids in arrays) == len(of_tasks) >= 4
    assert set(of_tasks) == {"rule_index_chunk", "rule_search_index"}
    assert len(list(logs.rglob("*.log"))) == len(ended)
    assert len({job["NodeList"] for job in ended}) > 1

    files = ["runs/tiny/small.parquet", "metrics/tiny/small.parquet", *CORPUS[1:]]
    assert_same(lexical, lexical_once, files)
    summaries = [pd.read_csv(run.result("summary.csv")).drop(columns=TIMES) for run in (lexical_once, lexical)]
    pd.testing.assert_frame_equal(*summaries, check_exact=True)


def test_tasks_of_an_array_depend_neither_on_the_first_one_nor_on_their_node(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    """The first is held; the node of the other is lost."""
    process = begin_waiting(cluster, on_cluster, "--latency-wait", "2")
    first = min(cluster.jobs("PENDING"))
    cluster.call("scontrol", "hold", first)
    cluster.resume_nodes()
    other = wait_until_runs(cluster, "index_chunk")
    lost = cluster.describe(other)["NodeList"]
    cluster.lose_node(lost)
    cluster.give_up_node(lost)
    wait_for(lambda: on_cluster.result(CHUNKS[0]).exists() + on_cluster.result(CHUNKS[1]).exists() == 1, "the other chunk")
    wait_for(lambda: not cluster.jobs("RUNNING"), "its end")
    cluster.call("scontrol", "release", first)
    end(on_cluster, process)
    assert restarts(on_cluster) == 0, "SLURM puts it back into the queue by itself"
    again = cluster.completed(other)
    assert again["Restarts"] == "1"
    assert again["NodeList"] != lost
    assert_same(on_cluster, lexical_once, CHUNKS)


def test_a_controller_that_is_away_is_waited_for_and_no_job_is_forgotten(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    """It is away twice: when the run begins, and while its job runs and ends, which the job itself says."""
    forget(on_cluster, STATISTICS)
    slow_down(on_cluster)
    cluster.stop_controller()
    process = begin(on_cluster, *arguments(*STATISTICS))
    wait_for(lambda: "SLURM does not answer, so it is repeated" in printed(on_cluster), "a word about the controller")
    assert process.poll() is None
    cluster.start_controller()
    job = wait_for_writer(on_cluster, process)
    os.kill(job, signal.SIGSTOP)
    cluster.stop_controller()
    time.sleep(QUESTIONS_SECONDS)
    assert process.poll() is None
    os.kill(job, signal.SIGCONT)
    output = end(on_cluster, process)
    cluster.start_controller()
    assert output.count("SLURM does not answer, so its jobs are asked about again") == 1
    assert restarts(on_cluster) == 0
    assert_same(on_cluster, lexical_once, STATISTICS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_a_controller_that_goes_away_at_any_moment_and_comes_back_changes_nothing(
    cluster: Cluster, lexical: Workflow, lexical_once: Workflow, tmp_path: Path, seed: int
) -> None:
    """Snakemake asks as seldom as it does by itself; a job that starts just before an outage may have to start again."""
    lexical.submit_to(cluster.environment)
    lexical.program = SNAKEMAKE
    profile = changed_profile(tmp_path / "profile", lambda profile: profile.update({FIRST_QUESTION: 5, "latency-wait": 5}))
    moments = random.Random(seed)
    process = begin(lexical, *arguments("summary.csv", profile=profile))
    try:
        for seconds in moments.sample(OUTAGES_SECONDS, len(OUTAGES_SECONDS)):
            time.sleep(moments.uniform(5, 60))
            assert process.poll() is None, printed(lexical)
            cluster.stop_controller()
            time.sleep(seconds)
            cluster.start_controller()
        end(lexical, process, seconds=600)
    finally:
        cluster.restore()
    assert_same(lexical, lexical_once, ["runs/tiny/small.parquet", "metrics/tiny/small.parquet", *CORPUS, *STATISTICS, *CHUNKS])


@pytest.mark.long
def test_jobs_that_a_controller_forgets_run_again(cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow) -> None:
    process = begin_waiting(cluster, on_cluster)
    cluster.stop_controller()
    cluster.start_controller(forgetful=True)
    output = end(on_cluster, process)
    assert output.count("SLURM no longer knows job") == 2
    assert_same(on_cluster, lexical_once, CHUNKS)


def test_jobs_of_a_run_that_was_killed_keep_the_results_from_another(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, STATISTICS)
    slow_down(on_cluster)
    process = begin(on_cluster, *arguments(*STATISTICS))
    job = wait_for_writer(on_cluster, process)
    os.kill(job, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    on_cluster.run("--unlock")
    assert "jobs of a run since" in on_cluster.run(*arguments(*STATISTICS), cores=None, ok=False)
    os.kill(job, signal.SIGCONT)
    wait_for(lambda: not cluster.call("squeue", "--noheader").strip(), "the end of the job")
    on_cluster.run(*arguments(*STATISTICS), "--rerun-incomplete", cores=None)
    assert_same(on_cluster, lexical_once, STATISTICS)


@pytest.mark.long
@pytest.mark.parametrize("whole", [False, True], ids=["one task", "the array"])
def test_an_array_that_is_cancelled_while_it_waits_runs_again(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow, *, whole: bool
) -> None:
    process = begin_waiting(cluster, on_cluster)
    task = max(cluster.jobs("PENDING"))
    cluster.call("scancel", task.partition("_")[0] if whole else task)
    cluster.resume_nodes()
    end(on_cluster, process)
    assert restarts(on_cluster) == (2 if whole else 1)
    assert_same(on_cluster, lexical_once, CHUNKS)


@pytest.mark.long
def test_a_job_that_asks_for_more_than_its_partition_allows_ends_the_run_with_the_reason(
    cluster: Cluster, on_cluster: Workflow, tmp_path: Path
) -> None:
    forget(on_cluster, STATISTICS)
    profile = changed_profile(tmp_path / "profile", lambda profile: profile["default-resources"].update(slurm_partition="short"))
    output = on_cluster.run(*arguments(*STATISTICS, profile=profile), "--retries", "0", cores=None, ok=False)
    (job,) = re.findall(r"SLURM-job '(\d+)' could never start \(PartitionTimeLimit\)", output)
    assert f"PartitionTimeLimit: {job}; compare the request of its rule in the profile" in output
    assert cluster.describe(job)["JobState"] == "CANCELLED"


@pytest.mark.long
def test_a_job_that_exceeds_its_time_gets_more(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    def little_time(profile: dict[str, Any]) -> None:
        profile["default-resources"].update(runtime="1 if attempt == 1 else 60")

    forget(on_cluster, STATISTICS)
    slow_down(on_cluster)
    before = len(cluster.ended())
    process = begin(on_cluster, *arguments(*STATISTICS, profile=changed_profile(tmp_path / "profile", little_time)))
    os.kill(wait_for_writer(on_cluster, process), signal.SIGSTOP)
    output = end(on_cluster, process)
    assert "SLURM status is: 'TIMEOUT'" in output
    assert [(job["JobState"], job["TimeLimit"]) for job in cluster.ended()[before:]] == [
        ("TIMEOUT", "00:01:00"),
        ("COMPLETED", "01:00:00"),
    ]
    assert_same(on_cluster, lexical_once, STATISTICS)


@pytest.mark.long
def test_a_job_of_a_lost_node_that_slurm_does_not_put_back_runs_again(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    job = wait_until_runs(cluster, "index_chunk")
    lost = cluster.describe(job)["NodeList"]
    cluster.call("scontrol", "update", f"jobid={job}", "requeue=0")
    cluster.lose_node(lost)
    cluster.give_up_node(lost)
    output = end(on_cluster, process)
    assert f"SLURM-job '{job}' failed, SLURM status is: 'NODE_FAIL'" in output
    assert_same(on_cluster, lexical_once, CHUNKS)


@pytest.mark.long
def test_a_job_that_is_preempted_runs_again_when_the_urgent_one_has_ended(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, STATISTICS)
    slow_down(on_cluster)
    process = begin(on_cluster, *arguments(*STATISTICS))
    wait_for_writer(on_cluster, process)
    (job,) = cluster.jobs("RUNNING")
    cluster.preempt(seconds=5)
    end(on_cluster, process)
    assert cluster.completed(job)["Restarts"] == "1"
    assert restarts(on_cluster) == 0, "SLURM puts it back into the queue by itself"
    assert_same(on_cluster, lexical_once, STATISTICS)


@pytest.mark.long
def test_a_limited_number_of_jobs_leaves_none_out(cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow) -> None:
    """With arrays, the plugin alone drops one that is ready while another of its rule must wait."""
    forget(on_cluster, CHUNKS)
    before = len(cluster.ended())
    end(on_cluster, begin(on_cluster, *arguments(*CHUNKS), "--jobs", "1"))
    assert [job["JobState"] for job in cluster.ended()[before:]] == ["COMPLETED"] * 2
    assert_same(on_cluster, lexical_once, CHUNKS)


@pytest.mark.long
def test_jobs_of_nodes_that_are_lost_run_again_when_one_is_back(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    """All nodes are, and SLURM notices it by itself."""
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    wait_until_runs(cluster, "index_chunk")
    for node in NODES:
        cluster.lose_node(node)
    wait_for(lambda: set(cluster.node_states().values()) == {"down*"}, "nodes that do not answer")
    assert process.poll() is None
    assert not cluster.jobs("RUNNING")
    cluster.start_node(NODES[0])
    end(on_cluster, process)
    assert_same(on_cluster, lexical_once, CHUNKS)


@pytest.mark.long
def test_a_submitting_process_that_is_killed_can_be_started_again(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    wait_until_runs(cluster, "index_chunk")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # As the README says.
    (name,) = set(cluster.call("squeue", "--me", "--noheader", "--Format=name:60").split())
    cluster.call("scancel", "--name", name)
    wait_for(lambda: not cluster.call("squeue", "--noheader").strip(), "the jobs to end")
    on_cluster.run("--unlock")
    on_cluster.run(*arguments(*CHUNKS), cores=None)
    assert_same(on_cluster, lexical_once, CHUNKS)
