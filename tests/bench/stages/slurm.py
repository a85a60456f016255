"""Light jobs on a SLURM of four simulated nodes: what a job takes beyond its own work, and what is left after faults."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.child import report
from bench.machine import REPOSITORY

CALLS = ("sbatch", "squeue", "sacct", "sinfo", "scontrol", "scancel")
COUNTED = """#!/bin/sh
echo {name}${{SLURM_JOB_ID:+-of-jobs}} >> {calls}
exec {path} "$@"
"""
CPUS = 4  # of a node; sixteen jobs at a time, of which each is a Snakemake
OUTAGE_SECONDS, PREEMPTED_SECONDS = 60, 20

TIME = "%a %b %d %H:%M:%S %Y"


def inputs(folder: Path, datasets: int) -> None:
    """Write small datasets, each with a run of somebody else, and the configuration of BM25 and of these runs."""
    import yaml

    from workflow_runs import config_of, small_dataset

    names = [f"set{number}" for number in range(datasets)]
    for name in names:
        small_dataset(folder / name)
        (folder / f"{name}.trec").write_text("".join(f"q{q} Q0 d{d:03} 1 {1 / (1 + d)} x\n" for q in range(4) for d in range(20)))
    systems = {"words": {"family": "lexical"}, "theirs": {"family": "run", "run": f"{folder}/{{dataset}}.trec"}}
    config = config_of(systems, folder, chunk_documents=1000)
    config |= {
        "datasets": names,
        "custom": {"systems": systems, "datasets": {name: {"path": str(folder / name)} for name in names}},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def local(output: Path, source: Path, cores: int) -> None:
    """Run everything on this machine."""
    start = time.perf_counter()
    subprocess.run([*_command(output, source), "--cores", str(cores)], check=True)
    report(seconds=time.perf_counter() - start)


def submitted(output: Path, source: Path) -> None:
    """Run everything on the cluster, and report what that took."""
    with _cluster(output) as (cluster, environment):
        start = time.perf_counter()
        cpu = _end(_begin(output, source, environment))
        _report(cluster, output, time.perf_counter() - start, cpu)


def faults(output: Path, source: Path) -> None:
    """Do to the run what happens on clusters, one thing after the other as jobs end."""
    with _cluster(output) as (cluster, environment):
        start = time.perf_counter()
        process = _begin(output, source, environment)
        total = _planned(output, process)
        for number, fault in enumerate((_cancel, _outage, _loss, _preemption), 1):
            _wait_for_share(output, process, total * number // 6)
            fault(cluster)
        _wait_for_share(output, process, total * 5 // 6)
        os.killpg(process.pid, signal.SIGKILL)
        cpu = _cpu(process)
        (name,) = set(cluster.call("squeue", "--me", "--noheader", "--Format=name:60").split()) - {"urgent"}
        cluster.call("scancel", "--name", name)  # as docs/cluster.md says
        while cluster.call("squeue", "--me", "--noheader").strip():
            time.sleep(1)
        subprocess.run([*_command(output, source), "--unlock"], check=True)
        cpu += _end(_begin(output, source, environment))
        _report(cluster, output, time.perf_counter() - start, cpu)


def check(folder: Path, *sides: Path) -> None:
    """Compare all results with those of the local run, as tests of faults do."""
    from faults_at_work import results, unfinished

    words, expected = [], results(folder / "results")
    for side in sides:
        found = results(side / "results")
        wrong = sorted(name for name in {**expected, **found} if expected.get(name) != found.get(name))
        if wrong or (left := unfinished(side / "results")):
            sys.exit(f"{side}: other than the local run: {wrong or left}")
        words.append(f"{side.name}: {_words(side)}")
    report(agree=f"{len(expected)} files as in the local run; {'; '.join(words)}")


def _words(side: Path) -> str:
    """What a run took, in short."""
    told = json.loads((side / "figures.json").read_text())
    calls = ", ".join(f"{count} {name}" for name, count in told["calls"].items())
    waits = ", ".join(f"{name} {mid:.0f} ({low:.0f} to {high:.0f})" for name, (low, mid, high) in told["waits"].items())
    states = ", ".join(f"{count} {state}" for state, count in told["states"].items())
    return (
        f"{told['jobs']} jobs, {calls}; {told['submitting']:.1f} s of processor time on the submitting side; median seconds of a"
        f" job (quartiles): {waits}; {states}, {told['requeued']} put back, {told['restarted']} submitted again"
    )


@contextmanager
def _cluster(output: Path) -> Iterator[tuple[Any, Mapping[str, str]]]:
    """Start a cluster, whose commands are counted by scripts that stand before them."""
    import psutil

    from slurm_cluster import Cluster
    from workflow_runs import EXECUTOR

    commands = output / "commands"
    commands.mkdir()
    for name in CALLS:
        script = COUNTED.format(name=name, calls=output / "calls", path=shutil.which(name))
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="slurm-")), cpus=CPUS)
    try:
        cluster.start()
        path = {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": f"{EXECUTOR}:{os.environ['PYTHONPATH']}"}
        yield cluster, {**os.environ, **cluster.environment, **path}
    finally:
        for process in psutil.Process().children():  # a run that waits for the cluster, where something went wrong
            if process.pid not in {daemon.pid for daemon in cluster.daemons.values()}:
                process.kill()
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)


def _command(output: Path, source: Path) -> list[str]:
    where = ["--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(output), "results/summary.csv"]
    return [sys.executable, "-m", "snakemake", "--configfile", str(source / "config.yaml"), *where]


def _begin(output: Path, source: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a run by the profile for SLURM."""
    command = [*_command(output, source), "--profile", str(REPOSITORY / "workflow/profiles/slurm")]
    with (output / "printed").open("ab") as printed:
        return subprocess.Popen(command, env=environment, stdout=printed, stderr=printed, start_new_session=True)


def _end(process: "subprocess.Popen[bytes]") -> float:
    """Wait for the end of a run, which must have succeeded; return its processor time, with that of its commands."""
    cpu = _cpu(process)
    if process.returncode:
        sys.exit(f"the run ended with {process.returncode}")
    return cpu


def _cpu(process: "subprocess.Popen[bytes]") -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _log(output: Path) -> str:
    """Snakemake's logs of all runs."""
    return "".join(path.read_text() for path in sorted((output / ".snakemake/log").glob("*.log")))


def _planned(output: Path, process: "subprocess.Popen[bytes]") -> int:
    """The number of jobs that a run has planned."""
    while not (found := re.search(r"^total +(\d+)$", _log(output), re.MULTILINE)):
        _check_running(process)
    return int(found[1])


def _wait_for_share(output: Path, process: "subprocess.Popen[bytes]", finished: int) -> None:
    while _log(output).count("Finished jobid") < finished:
        _check_running(process)


def _check_running(process: "subprocess.Popen[bytes]") -> None:
    time.sleep(0.5)
    if process.poll() is not None:
        sys.exit(f"the run ended early, with {process.returncode}")


def _cancel(cluster: Any) -> None:
    """Cancel a job."""
    while not (running := cluster.jobs("RUNNING")):
        time.sleep(0.2)
    cluster.call("scancel", min(running))


def _outage(cluster: Any) -> None:
    """Have no controller for a minute."""
    cluster.stop_controller()
    time.sleep(OUTAGE_SECONDS)
    cluster.start_controller()


def _loss(cluster: Any) -> None:
    """Lose the node of a job, and get it back."""
    while not (running := cluster.jobs("RUNNING")):
        time.sleep(0.2)
    node = cluster.describe(min(running))["NodeList"]
    cluster.lose_node(node)
    cluster.give_up_node(node)
    time.sleep(PREEMPTED_SECONDS)
    cluster.start_node(node)


def _preemption(cluster: Any) -> None:
    """Take all nodes for a while, once jobs run there."""
    while not cluster.jobs("RUNNING"):
        time.sleep(0.2)
    cluster.preempt(PREEMPTED_SECONDS)


def _report(cluster: Any, output: Path, seconds: float, cpu: float) -> None:
    """Report what a run took, and keep it beside its results."""
    log, jobs = _log(output), [job for job in cluster.ended() if job["JobName"] != "urgent"]
    described = {f"{job['ArrayJobId']}_{job['ArrayTaskId']}" if "ArrayJobId" in job else job["JobId"]: job for job in jobs}
    waits: dict[str, list[float]] = {"until submitted": [], "in the queue": [], "in SLURM": [], "until noticed": [], "all": []}
    for name, (ready, noticed) in _times(log).items():
        if not (job := described.get(name)) or job["JobState"] != "COMPLETED":
            continue
        moments = [ready, *(_seconds(job[f"{word}Time"], "%Y-%m-%dT%H:%M:%S") for word in ("Submit", "Start", "End")), noticed]
        parts = [*(after - before for before, after in pairwise(moments)), noticed - ready]
        for values, part in zip(waits.values(), parts, strict=True):
            values.append(part)
    figures = {
        "seconds": seconds,
        "submitting": cpu,
        "jobs": len(described),
        "calls": Counter((output / "calls").read_text().split()),
        "states": dict(Counter(job["JobState"] for job in jobs)),
        "requeued": sum(int(job.get("Restarts", 0)) for job in jobs),
        "restarted": log.count("Trying to restart job"),
        "waits": {name: quantiles(values) if len(values) > 1 else values * 3 for name, values in waits.items()},
    }
    (output / "figures.json").write_text(json.dumps(figures))
    report(**figures)


def _times(log: str) -> dict[str, tuple[float, float]]:
    """When a job was ready and when its end was noticed, by SLURM's id; of the last run."""
    submitted = dict(re.findall(r"Job (\S+) has been submitted with SLURM jobid (\d+)", log))
    for numbers, array, first in re.findall(r"IDs ([\d,]+) and SLURM job ID (\d+)\. The individual task IDs are (\d+)-", log):
        submitted |= {number: f"{array}_{int(first) + place}" for place, number in enumerate(numbers.split(","))}
    ready, noticed = (
        {number: _seconds(when, TIME) for when, number in re.findall(rf"^\[(.*)\]\n{words} (\d+)\b", log, re.MULTILINE)}
        for words in ("Job", "Finished jobid:")
    )
    return {job: (ready[number], noticed[number]) for number, job in submitted.items() if number in ready and number in noticed}


def _seconds(text: str, form: str) -> float:
    return time.mktime(time.strptime(text, form))
