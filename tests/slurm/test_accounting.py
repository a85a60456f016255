"""The same on a cluster with accounting: sacct, a controller that is away while sacct answers, and limits of a user."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from slurm_cluster import Cluster, wait_for
from slurm_runs import (
    CHUNKS,
    STATISTICS,
    arguments,
    assert_same,
    begin,
    begin_waiting,
    changed_profile,
    end,
    forget,
    wait_until_runs,
)
from workflow_runs import Workflow

pytestmark = pytest.mark.long

AWAY_SECONDS = 15
"""Enough for several questions, each of which takes as long as a command waits for the controller."""


def without_arrays(profile: dict[str, Any]) -> None:
    del profile["beirflow-slurm-array-jobs"], profile["beirflow-slurm-array-limit"]


def asks_sacct(profile: dict[str, Any]) -> None:
    profile["beirflow-slurm-status-command"] = "sacct"


def test_a_task_that_waits_is_not_submitted_again_while_the_controller_is_away_and_sacct_answers(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow, lexical_once: Workflow
) -> None:
    cluster, workflow = accounting_cluster, on_accounting_cluster
    before = len(cluster.ended())
    process = begin_waiting(cluster, workflow, "--latency-wait", "2")
    waiting = min(cluster.jobs("PENDING"))
    cluster.call("scontrol", "hold", waiting)
    cluster.resume_nodes()
    wait_for(lambda: workflow.result(CHUNKS[0]).exists() + workflow.result(CHUNKS[1]).exists() == 1, "the other chunk")
    wait_for(lambda: not cluster.jobs("RUNNING"), "its end")
    cluster.stop_controller()
    time.sleep(AWAY_SECONDS)
    assert "COMPLETED" in cluster.call("sacct", "--noheader", "--allocations", "--format=State")
    cluster.start_controller()
    cluster.call("scontrol", "release", waiting)
    output = end(workflow, process)
    assert "Trying to restart job" not in output
    assert [job["JobState"] for job in cluster.ended()[before:]] == ["COMPLETED"] * 2
    assert_same(workflow, lexical_once, CHUNKS)


def test_sacct_says_the_states_of_jobs_where_it_is_chosen(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    forget(on_accounting_cluster, CHUNKS)
    profile = changed_profile(tmp_path / "profile", asks_sacct)
    process = begin(on_accounting_cluster, *arguments(*CHUNKS, profile=profile))
    cancelled = wait_until_runs(accounting_cluster, "index_chunk")
    accounting_cluster.call("scancel", cancelled)
    assert end(on_accounting_cluster, process).count("Trying to restart job") == 1
    states = accounting_cluster.call("sacct", "--noheader", "--allocations", "--format=State", f"--jobs={cancelled}")
    assert "CANCELLED" in states
    assert_same(on_accounting_cluster, lexical_once, CHUNKS)


def test_what_is_beyond_the_jobs_that_a_user_may_submit_is_submitted_when_others_have_ended(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    forget(on_accounting_cluster, CHUNKS)
    profile = changed_profile(tmp_path / "profile", without_arrays)
    accounting_cluster.limit_jobs("MaxSubmitJobs=1")
    try:
        output = end(on_accounting_cluster, begin(on_accounting_cluster, *arguments(*CHUNKS, profile=profile)))
    finally:
        accounting_cluster.limit_jobs("MaxSubmitJobs=-1")
    assert "the cluster lets you submit no more for now" in output
    assert "Trying to restart job" not in output
    assert_same(on_accounting_cluster, lexical_once, CHUNKS)


def test_an_array_beyond_the_jobs_that_a_user_may_submit_ends_the_run_with_advice(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow
) -> None:
    forget(on_accounting_cluster, CHUNKS)
    accounting_cluster.limit_jobs("MaxSubmitJobs=1")
    try:
        output = on_accounting_cluster.run(*arguments(*CHUNKS), "--retries", "0", cores=None, ok=False)
    finally:
        accounting_cluster.limit_jobs("MaxSubmitJobs=-1")
    assert "lower beirflow-slurm-array-limit and jobs in the profile" in output
    assert "rule index_chunk" in output


def test_a_job_beyond_the_time_that_a_user_may_ask_for_ends_the_run_with_the_reason(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow
) -> None:
    forget(on_accounting_cluster, STATISTICS)
    accounting_cluster.limit_jobs("MaxWall=5")
    try:
        output = on_accounting_cluster.run(*arguments(*STATISTICS), "--retries", "0", cores=None, ok=False)
    finally:
        accounting_cluster.limit_jobs("MaxWall=-1")
    assert re.search(r"SLURM-job '\d+' could never start \(AssocMaxWallDurationPerJobLimit\)", output)


def test_accounting_that_is_away_is_waited_for(
    accounting_cluster: Cluster, on_accounting_cluster: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    forget(on_accounting_cluster, STATISTICS)
    profile = changed_profile(tmp_path / "profile", asks_sacct)
    process = begin(on_accounting_cluster, *arguments(*STATISTICS, profile=profile))
    wait_until_runs(accounting_cluster, "sum_statistics")
    accounting_cluster.stop_accounting()
    time.sleep(AWAY_SECONDS)
    accounting_cluster.start_accounting()
    output = end(on_accounting_cluster, process)
    assert output.count("SLURM does not answer") == 1
    assert "Trying to restart job" not in output
    assert_same(on_accounting_cluster, lexical_once, STATISTICS)
