"""The command beirflow, which runs Snakemake for real."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from beirflow.core.records import read_json, write_json
from faults_at_work import logged, wait_until
from warm_snakemake import REPOSITORY, run_warm
from workflow_runs import Workflow

PACKAGE = {"PYTHONPATH": str(REPOSITORY / "src")}
CRASH = re.compile(r"Traceback|Error in rule|exit status|returned non-zero|the same command|failed: ", re.IGNORECASE)


def beirflow(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command in a folder; gives its exit status and what it printed."""
    return run_warm(words, folder, {**os.environ, "PWD": str(folder)}, command=True)


def configured(workflow: Workflow) -> Path:
    """The folder of a workflow, with its configuration as my.yaml."""
    (workflow.folder / "my.yaml").write_text(yaml.safe_dump(workflow.config))
    return workflow.folder


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_run_makes_the_summary_and_the_rest_of_the_line_is_snakemakes(lexical: Workflow) -> None:
    folder = configured(lexical)
    status, output = beirflow(folder, "run", "my.yaml", "--dry-run")
    assert status == 0, output
    assert "Job stats:" in output
    assert not lexical.result("summary.csv").exists()
    status, output = beirflow(folder, "run", "my.yaml", "--cores", "2", "--config", "results=mine")
    assert status == 0, output
    assert (folder / "mine/summary.csv").is_file()
    assert "tiny" in output
    assert "snakemake" in output.splitlines()[0]
    # The printed command is the same run.
    lexical.config["results"] = "mine"
    assert lexical.planned("mine/summary.csv") == {}


def test_the_demo_needs_an_empty_folder_alone_and_is_kept(tmp_path: Path) -> None:
    status, output = beirflow(tmp_path, "demo")
    assert status == 0, output
    folder = tmp_path / "beirflow-demo"
    assert {path.name for path in folder.iterdir()} == {".snakemake", "dataset", "my.yaml", "results"}
    assert re.search(r"^demo \(test\), documents: 24, queries: 4$.*^bm25 +1\.0000 +no ", output, re.MULTILINE | re.DOTALL)
    status, output = beirflow(folder, "run", "my.yaml")
    assert (status, "Nothing to do" in output) == (0, True), output


def test_an_audit_in_an_empty_folder_ends_with_its_verdict(finished_lexical: Workflow, tmp_path: Path) -> None:
    results, mine = finished_lexical.result(""), tmp_path / "mine"
    mine.mkdir()
    before = files(results)
    status, output = beirflow(mine, "audit", str(results), "--sample", "3")
    assert status == 0, output
    assert f"The audit of {results} passed" in output
    assert files(results) == before
    summary = results / "summary.csv"
    summary.write_text(re.sub(r"0\.\d+", "0.999", summary.read_text(), count=1))
    before = files(results)
    status, output = beirflow(mine, "audit", str(results))
    assert status == 1
    assert f"\nThe audit of {results} failed: " in output
    assert "summary.csv has the sha256" in output
    assert not CRASH.search(output.replace(" failed: ", "")), output
    assert output.rstrip().splitlines()[-1].startswith("All checks: audits/")
    assert files(results) == before
    assert not (mine / "page").exists()
    assert beirflow(mine, "audit", str(results), "-o", "page")[0] == 1
    assert {path.name for path in (mine / "page").iterdir()} == {"audit.html", "audit.json", "logs"}
    status, output = beirflow(mine, "audit", str(results), "-o", str(results / "page"))
    assert (status, "which is only read" in output, (results / "page").exists()) == (1, True, False)


def test_a_gate_that_fails_ends_with_its_verdict(reported_once: Workflow, tmp_path: Path) -> None:
    workflow = reported_once.copied(tmp_path / "work")
    folder, baseline = configured(workflow), tmp_path / "baseline"
    shutil.copytree(workflow.result(""), baseline)
    status, output = beirflow(folder, "gate", "my.yaml", "--baseline", str(baseline))
    assert (status, "gate passed" in output) == (0, True), output
    manifest = read_json(baseline / "manifest.json")
    manifest["inputs"] = {}
    write_json(baseline / "manifest.json", manifest)
    status, output = beirflow(folder, "gate", "my.yaml", "--baseline", str(baseline))
    assert (status, "\ngate failed: " in output) == (1, True), output
    assert not CRASH.search(output.replace("gate failed: ", "")), output


def heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a command in a process group of its own; it heeds SIGINT, also where this process does not."""
    command, environment = [sys.executable, "-m", "beirflow", *words], {**os.environ, **PACKAGE, "PWD": str(folder)}
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, start_new_session=True, preexec_fn=heed_interrupts, **streams
    )


@pytest.mark.skipif(sys.platform != "linux", reason="a job ends with its Snakemake on Linux alone")
def test_a_run_resumes_after_an_interrupt_and_says_how_to_unlock_after_a_kill(lexical: Workflow) -> None:
    folder, words = configured(lexical), ["run", "my.yaml", "--cores", "1", "--", "results/summary.csv"]
    run = start(folder, *words)
    assert wait_until(lambda: "Finished jobid" in logged(lexical), run), run.communicate()
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 1
    assert "Interrupted; finished files are kept." in output
    resume = output.rstrip().splitlines()[-1].strip()
    assert resume.endswith(f"beirflow {' '.join(words)}")
    assert "Traceback" not in output
    done = {path for path in lexical.result("").rglob("*") if path.suffix in (".arrow", ".parquet")}
    assert done
    shutil.rmtree(folder / ".snakemake/log")
    run = start(folder, *words)
    assert wait_until(lambda: "Finished jobid" in logged(lexical), run), run.communicate()
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    status, output = beirflow(folder, *words)
    assert status == 1
    assert f"{folder}: a run of this working folder that was killed" in output
    assert not CRASH.search(output), output
    unlock = output.rstrip().splitlines()[-1].strip()
    assert unlock.endswith("beirflow run my.yaml --cores 1 --unlock -- results/summary.csv")
    program, again = unlock.split(" run ", 1)
    assert program.endswith("beirflow")
    status, output = beirflow(folder, "run", *shlex.split(again))
    assert status == 0, output
    status, output = beirflow(folder, *words)
    assert status == 0, output
    assert lexical.result("summary.csv").is_file()
