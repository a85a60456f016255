"""A run that is killed or stopped goes on where it was, ends the same, and leaves nothing behind."""

import base64
import logging
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults_at_work import WITHOUT_FORK_SERVER, all_ended, logged, printed, results, start, unfinished, unlock, wait_until
from workflow_runs import Workflow

logger = logging.getLogger(__name__)

SEED = int(os.environ.get("BEIRFLOW_FAULT_SEED", random.randrange(10**6)))
"""Of the moments; printed, and taken from the environment to see a failure again."""

STOP_STARTS = 3
"""Times that a run takes to its first chunk, within which a signal stops everything; less than one where nothing else runs."""

PATIENCE_SECONDS = 300
"""For what happens at once on a machine that does nothing else."""

SUMMARY = "results/summary.csv"


def wait_for_a_random_moment(rng: random.Random, workflow: Workflow, process: subprocess.Popen[bytes]) -> str:
    """Some jobs later, at any time or in the middle of writing; says when that was."""
    done = rng.choice([0, 1, 1, 2])
    wait_until(lambda: logged(workflow).count("Finished jobid") >= done, process)
    writing = rng.random() < 0.4
    if writing:
        known = set(unfinished(workflow.result("")))
        wait_until(lambda: set(unfinished(workflow.result(""))) - known, process, seconds=5)
    time.sleep(rng.uniform(0, 0.3 if writing else 2.5))
    running = logged(workflow).rpartition("Job ")[2].partition("\n")[0]
    return f"after {done} jobs, last began {running!r}, half written {len(unfinished(workflow.result('')))}"


def kill(process: subprocess.Popen[bytes], *, alone: bool) -> bool:
    """Kill Snakemake alone, or all of its group; False if it had ended by itself, which must have gone well."""
    if process.poll() is not None:
        assert process.returncode == 0
        return False
    (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="a job ends with its Snakemake on Linux alone")
@pytest.mark.parametrize(("systems", "enough"), [("finished_lexical", 2), pytest.param("finished", 20, marks=pytest.mark.long)])
def test_kills_at_random_moments_change_no_result_and_leave_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, systems: str, enough: int
) -> None:
    rng = random.Random(SEED)
    finished: Workflow = request.getfixturevalue(systems)
    workflow = Workflow(tmp_path / "killed", finished.config)
    workflow.folder.mkdir()
    logger.warning("BEIRFLOW_FAULT_SEED=%d", SEED)
    expected, kills, whole_runs = results(finished.result("")), 0, 0
    while kills < enough or not whole_runs:
        process = start(workflow, SUMMARY)
        alone = kills % 2 == 1
        if kills < enough:
            when = wait_for_a_random_moment(rng, workflow, process)
            killed = kill(process, alone=alone)
        else:
            killed = process.wait() != 0
            assert not killed, printed(workflow)
        if killed:
            kills += 1
            logger.warning("kill %d of %s: %s", kills, "Snakemake alone" if alone else "all", when)
            assert all_ended(process.pid)
            unlock(workflow)
        else:
            whole_runs += 1
            assert unfinished(workflow.result("")) == []
            assert results(workflow.result("")) == expected
            if kills < enough:
                shutil.rmtree(workflow.result(""))
                shutil.rmtree(workflow.folder / ".snakemake")


def test_what_a_run_killed_after_a_merge_left_goes_with_the_next_run(lexical: Workflow, finished_lexical: Workflow) -> None:
    # As if killed after the job and before Snakemake removed its temporary input: nothing will merge the candidates again.
    lexical.run(SUMMARY, "--notemp")
    merged = {path: path.stat().st_mtime_ns for path in lexical.result("runs").rglob("*.*")}
    assert list(lexical.result("candidates").rglob("*.arrow"))
    lexical.result("summary.csv").unlink()
    lexical.run(SUMMARY)
    assert {path: path.stat().st_mtime_ns for path in merged} == merged
    assert results(lexical.result("")) == results(finished_lexical.result(""))


SLOW_DISK = """
import os, time
replace = os.replace
def replace_slowly(source, target):
    if str(target).endswith(".arrow"):
        time.sleep(3)
    replace(source, target)
os.replace = replace_slowly
"""
"""In every process of a run: chunks are half written for some seconds, so that a signal finds them so."""


def test_a_signal_stops_a_run_within_seconds_and_the_same_command_goes_on(
    lexical: Workflow, finished_lexical: Workflow, tmp_path: Path
) -> None:
    workflow, chunks = lexical, lexical.result("postings/lucene-english/small")
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    workflow.environment = {"PYTHONPATH": str(tmp_path)}
    # Ctrl-C; a stop of all processes; `docker stop`, `kill -INT` and `timeout -s INT`, whose signal only Snakemake gets.
    for number, send in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.killpg), (signal.SIGINT, os.kill)):
        begun = time.monotonic()
        process = start(workflow, SUMMARY)
        assert wait_until(lambda: list(chunks.glob(".partial-chunk-*")), process), printed(workflow)
        sent = time.monotonic()
        send(process.pid, number)
        assert process.wait(PATIENCE_SECONDS) != 0
        stopped, started = time.monotonic() - sent, sent - begun
        logger.warning("%s: stopped in %.1f s, after a start of %.1f s", number.name, stopped, started)
        assert stopped < STOP_STARTS * started
        assert not workflow.result("summary.csv").exists()
        assert all_ended(process.pid)
        assert unfinished(workflow.result("")) == []
        assert "Traceback" not in printed(workflow)
        assert "an unexpected error" not in printed(workflow)
        assert not list((workflow.folder / ".snakemake/locks").glob("*"))
    # To Snakemake alone SIGTERM says: begin nothing new.
    process = start(workflow, SUMMARY, cores=1)
    assert wait_until(lambda: list(chunks.glob(".partial-chunk-*")), process), printed(workflow)
    before = set(chunks.glob("chunk-*.json"))
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(300) != 0
    assert len(set(chunks.glob("chunk-*.json")) - before) == 1
    kept = {path: path.stat().st_mtime_ns for path in chunks.glob("*.arrow")}
    workflow.environment = {}
    workflow.run(SUMMARY)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert results(workflow.result("")) == results(finished_lexical.result(""))


SLOW_REMOVAL = """
import time
from pathlib import Path
unlink = Path.unlink
def unlink_slowly(path, **options):
    if path.name.startswith(".partial-"):
        time.sleep(2)
    unlink(path, **options)
Path.unlink = unlink_slowly
"""


@pytest.mark.parametrize("forked", [True, False])
def test_an_interrupt_of_snakemake_alone_and_a_second_one_stop_its_jobs_in_order(
    lexical: Workflow, tmp_path: Path, *, forked: bool
) -> None:
    chunks = lexical.result("postings/lucene-english/small")
    (tmp_path / "sitecustomize.py").write_text(
        SLOW_DISK.replace("3", "60") + SLOW_REMOVAL + ("" if forked else WITHOUT_FORK_SERVER)
    )
    lexical.environment = {"PYTHONPATH": str(tmp_path)}
    process = start(lexical, SUMMARY)
    assert wait_until(lambda: list(chunks.glob(".partial-chunk-*")), process), printed(lexical)
    process.send_signal(signal.SIGINT)
    assert wait_until(lambda: "Stopping: removing half-written files." in printed(lexical), process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    assert process.wait(PATIENCE_SECONDS) == 1
    assert time.monotonic() - sent < 30  # the disk takes a minute
    assert all_ended(process.pid)
    assert unfinished(lexical.result("")) == []
    assert "Interrupted; finished files are kept." in printed(lexical)
    assert "Traceback" not in printed(lexical)
    assert not list((lexical.folder / ".snakemake/locks").glob("*"))


SECRETS = ("pass-word-of-the-mirror", "token-of-the-mirror")


def test_a_killed_download_leaves_no_secret_behind(lexical: Workflow) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes requests and answers none
        password, token = SECRETS
        mirror = f"http://me:{password}@127.0.0.1:{silent.getsockname()[1]}/beir?token={token}"
        lexical.config |= {"datasets": ["scifact"], "mirrors": [mirror]}
        process = start(lexical, "results/data/scifact.zip")
        connection, _ = silent.accept()
        with connection:
            request = connection.recv(1 << 16)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert all_ended(process.pid)
    # It reached the server as it is configured.
    assert f"token={token}".encode() in request
    assert base64.b64encode(f"me:{password}".encode()) in request
    left = [path for path in lexical.folder.rglob("*") if path.is_file() and path.name != "config-of-test.yaml"]
    assert [path for path in left if "jobs" in path.parts]  # the file of the job is one of them
    for secret in SECRETS:
        assert [path for path in left if secret.encode() in path.read_bytes()] == []


def test_a_second_run_of_the_same_results_is_refused_from_any_folder_and_does_the_first_no_harm(
    lexical: Workflow, finished_lexical: Workflow, tmp_path: Path
) -> None:
    lexical.config["pathvars"] = {"results": str(tmp_path / "shared")}
    target = f"{tmp_path}/shared/summary.csv"
    other = Workflow(tmp_path / "other", lexical.config | {"chunk_documents": 7})
    other.folder.mkdir()
    first = start(lexical, target)
    assert wait_until(lambda: (tmp_path / "shared/corpora/small/corpus.json").exists(), first), printed(lexical)
    first.send_signal(signal.SIGSTOP)
    says = rf"{tmp_path}/shared: a run since .*, process {first.pid} on .*, in {lexical.folder}, writes these results"
    for second in (lexical, other):
        refusal = second.run(target, ok=False)
        assert re.search(says, refusal)
        assert "unlock" not in refusal
    # As every run of Snakemake does at its end that writes other results from the same folder.
    lexical.run("--unlock")
    assert re.search(says, lexical.run(target, ok=False))
    assert "Job stats" in other.run("--dry-run", target)
    first.send_signal(signal.SIGCONT)
    assert first.wait() == 0, printed(lexical)
    assert unfinished(tmp_path / "shared") == []
    assert results(tmp_path / "shared") == results(finished_lexical.result("")) | {
        "manifest.json": results(tmp_path / "shared")["manifest.json"]
    }
