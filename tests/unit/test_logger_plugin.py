"""Lines of a run in the terminal: jobs, progress, last words; from records that Snakemake logged (record_log_stream.py)."""

import io
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.logging import DefaultFormatter

import snakemake_logger_plugin_beirflow as module
from beirflow.core.layout import job_error
from beirflow.core.records import write_json
from beirflow.run.job import logged_error
from beirflow.run.overall import Expected, Overall
from record_log_stream import STREAM
from snakemake_logger_plugin_beirflow import SILENTLY, LogHandler, Workflow

COMMAND = "snakemake --cores 2 --configfile my.yaml -- results/summary.csv"
SENTENCE = "corpus.jsonl:41: the document id 'd1' is already in line 1; ids must be unique"
RESUME = ["The same command resumes:", f"    {COMMAND}"]

RECORDS = [json.loads(line) for line in STREAM.read_text(encoding="utf-8").splitlines()[1:]]
NOT_SUCCESSFUL = "WorkflowError:\nAt least one job did not complete successfully."


class Run:
    """A run whose terminal is a text."""

    def __init__(self, *quiet: str, follow: bool = True, **settings: bool) -> None:
        off = dict.fromkeys(("printshellcmds", "nocolor", "debug_dag", "verbose", "show_failed_logs", "stdout", "dryrun"), False)
        names = [SimpleNamespace(name=name.upper()) for name in quiet]
        self.terminal = LogHandler(SimpleNamespace(quiet=names, **off | settings), None)  # type: ignore[arg-type]
        self.terminal.setFormatter(DefaultFormatter())
        self.terminal.stream = self.stream = io.StringIO()
        self.living: str | None = None
        if follow:
            self.terminal.follow(
                Workflow(COMMAND, lambda: "\n\nthe table", _nearest, lambda: self.living, logged_error, lambda _: None)
            )

    def log(self, **facts: Any) -> None:
        self.terminal.handle(logging.makeLogRecord(facts))

    def play(self, scene: str, *, signal_after_job: Any = None, end: bool = True) -> list[str]:
        """Let Snakemake log what it logged in a scene; return the lines without times."""
        for record in RECORDS:
            if record["scene"] == scene:
                if record["msg"] == NOT_SUCCESSFUL:
                    self.terminal.fail()
                self.log(**record)
                if signal_after_job and record.get("event") == "job_info":
                    signal_after_job()
        if end:
            self.terminal.close()
        return [line[10:] if line[2:3] == ":" else line for line in self.lines]

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def _nearest(target: str) -> str:
    return f"; did you mean '{target.replace('sumary', 'summary')}'?" if "sumary" in target else ""


def write_error(folder: Path) -> None:
    (failed,) = [record for record in RECORDS if record["scene"] == "failure" and record.get("event") == "job_error"]
    log = folder / failed["log"][0]
    log.parent.mkdir(parents=True)
    write_json(job_error(log), {"error": SENTENCE})


def test_a_run_that_succeeds_shows_its_jobs_and_one_with_nothing_to_do_the_table() -> None:
    assert Run().play("success") == ["prepare kitchen"]
    assert Run().play("nothing to do") == ["Nothing to do: all requested files exist.", "", "the table"]


def test_an_error_ends_with_our_sentence_and_the_command_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unexplained = Run().play("failure")
    assert "Error in rule prepare_corpus, jobid: 0" in unexplained
    assert f"prepare debate failed: {SILENTLY}" in unexplained
    write_error(tmp_path)
    assert Run().play("failure") == [
        "prepare debate",
        "failed: prepare debate",
        "",
        f"prepare debate failed: {SENTENCE}",
        "    log: results/demo/logs/prepare_corpus/debate.log",
        "Rerun the same command after fixing this, or if it was temporary; finished jobs are kept:",
        RESUME[1],
    ]


def test_a_job_that_goes_well_at_another_attempt_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_error(tmp_path)
    run = Run()
    for record in RECORDS:
        if record["scene"] == "failure" and record.get("event") in ("job_info", "job_error"):
            run.log(**record)
    run.play("success")
    assert not [line for line in run.lines if line.startswith("Rerun the same command")]
    assert not [line for line in run.lines if " failed: " in line and "prepare debate failed" in line]


@pytest.mark.parametrize("dry", [False, True])
def test_a_target_that_no_rule_makes_is_answered_with_the_nearest(monkeypatch: pytest.MonkeyPatch, *, dry: bool) -> None:
    monkeypatch.setattr(sys, "argv", ["snakemake", "--cores", "1", "--", "results/demo/sumary.csv"])
    lines = Run(dryrun=dry).play("unknown target")
    assert lines[-1] == "results/demo/sumary.csv: unknown target; did you mean 'results/demo/summary.csv'?"
    assert lines[-2].startswith("No rule to produce results/demo/sumary.csv")
    assert ("Building DAG of jobs..." in lines) == dry


def test_other_errors_and_warnings_are_handed_on() -> None:
    run = Run()
    run.log(msg="the scheduler failed", levelno=logging.ERROR, event="error", exception="WorkflowError")
    run.log(msg="clock skew", levelno=logging.WARNING)
    run.log(msg="Job 4 has been submitted with SLURM jobid 8.", levelno=logging.INFO)
    assert run.lines == ["the scheduler failed", "clock skew"]
    verbose = Run(verbose=True)
    verbose.log(msg="Job 4 has been submitted with SLURM jobid 8.", levelno=logging.INFO)
    assert verbose.lines == ["Job 4 has been submitted with SLURM jobid 8."]


def test_a_workflow_of_others_is_shown_in_snakemakes_words() -> None:
    run = Run(follow=False)
    run.play("failure")
    assert "At least one job did not complete successfully." in run.lines
    assert not [line for line in run.lines if "resumes" in line]


def test_a_run_goes_on_where_its_lines_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    closed, full = Run(), Run()
    closed.terminal.stream = None
    full.terminal.stream = open("/dev/full", "w")  # noqa: PTH123, SIM115 (the handler has it)
    for run in (closed, full):
        run.terminal.plan(Overall({}))
        run.log(**next(record for record in RECORDS if record.get("event") == "job_info"))
        run.terminal.close()
    assert "No space left on device" in capsys.readouterr().err


def test_a_run_whose_reader_has_gone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    run, sent = Run(), list[object]()
    read, written = os.pipe()
    os.close(read)
    stream = open(written, "w")  # noqa: PTH123, SIM115 (the handler has it)
    run.terminal.stream = stream
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    for _ in range(2):
        run.log(**next(record for record in RECORDS if record.get("event") == "job_info"))
    assert sent == [(os.getpid(), signal.SIGINT)]
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_mistake_of_the_configuration_that_a_rule_finds_is_told_without_places_in_rule_files() -> None:
    run = Run()
    message = (
        "InputFunctionException in rule prepare_corpus in file corpus.smk:\nError:\n  ConfigError: bioasq has no copy\nTraceback:"
    )
    run.log(msg=message, levelno=logging.ERROR, event="error", exception="InputFunctionException")
    assert run.lines == ["bioasq has no copy"]


def test_a_second_run_is_told_of_the_first_one_and_never_to_unlock_while_that_lives() -> None:
    run = Run()
    locked = {"msg": "run with the --unlock argument", "levelno": logging.ERROR, "event": "error", "exception": "LockException"}
    run.log(**locked)
    assert run.lines[0].startswith(f"{Path.cwd()}: a run of this working folder that was killed")
    assert run.lines[1:] == ["    snakemake --cores 2 --configfile my.yaml --unlock -- results/summary.csv"]
    run.living = "another run writes these results"
    run.log(**locked)
    assert run.lines[2:] == ["another run writes these results"]


def test_a_verdict_is_no_failed_job_but_an_error_beside_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_error(tmp_path)
    (error,) = tmp_path.rglob("*.error.json")
    write_json(error, {"error": "the audit failed", "verdict": True})
    assert [line for line in Run().play("failure") if "audit" in line or "resume" in line or "failed" in line] == []
    write_json(error, {"error": SENTENCE})
    assert Run().play("failure")[-1] == RESUME[1]


def test_an_interruption_says_that_the_same_command_goes_on_and_once_that_running_jobs_are_waited_for() -> None:
    run = Run()
    lines = run.play("SIGINT", signal_after_job=run.terminal.interrupt)
    assert lines[-3:] == [
        "Stopping: removing half-written files.",
        f"Interrupted; finished files are kept. {RESUME[0]}",
        RESUME[1],
    ]
    assert len(lines) == 4
    run = Run()
    lines = run.play("SIGTERM", signal_after_job=run.terminal.stop)
    run.terminal.stop()
    assert lines.count("Stopping after the running jobs; no other job starts.") == 1
    assert lines[-2:] == [f"Interrupted; finished files are kept. {RESUME[0]}", RESUME[1]]


def test_a_job_that_a_signal_ended_has_not_failed() -> None:
    run = Run()
    lines = run.play("failure", signal_after_job=run.terminal.stop)
    assert lines[1:] == [
        "Stopping after the running jobs; no other job starts.",
        f"Interrupted; finished files are kept. {RESUME[0]}",
        RESUME[1],
    ]


def test_an_interruption_of_a_plan_is_one_too() -> None:
    run = Run()
    run.terminal.interrupt()
    message = "InputFunctionException in rule index_chunk in file lexical.smk:\nError:\n  KeyboardInterrupt: \n"
    run.log(msg=message, levelno=logging.ERROR, event="error", exception="InputFunctionException")
    run.terminal.close()
    assert run.lines == [f"Interrupted; finished files are kept. {RESUME[0]}", RESUME[1]]
    run = Run()
    run.log(**next(record for record in RECORDS if record.get("event") == "workflow_started"))
    with pytest.raises(KeyboardInterrupt), closing(run.terminal):
        raise KeyboardInterrupt
    assert run.lines == [f"Interrupted; finished files are kept. {RESUME[0]}", RESUME[1]]


def test_the_share_is_said_when_a_job_ends_but_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    run.terminal.plan(Overall({0: Expected("prepare_corpus", 9.0, 100), 9: Expected("summarize", 1.0)}))
    assert run.lines[0].endswith("2 jobs to do")
    assert not [line for line in run.play("success", end=False) if "of the work" in line]
    monkeypatch.setattr(module, "AFTER_JOBS_SECONDS", 0.0)
    assert [line for line in run.play("success", end=False) if "90% of the work, 100 of 100 documents" in line]
    run.terminal.plan(Overall({0: Expected("prepare_corpus", 8000.0)}))
    assert run.lines[-1].endswith("  1 job to do")
    assert run.play("success")[-1] == "prepare kitchen", "nothing is left, which the end says"
    run.terminal.close()


@pytest.mark.parametrize(("quiet", "jobs", "share"), [("rules", 0, 1), ("progress", 1, 0), ("all", 0, 0), ("reason", 1, 1)])
def test_quiet_is_obeyed(quiet: str, jobs: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_JOBS_SECONDS", 0.0)
    run = Run(quiet)
    run.terminal.progress = Overall({0: Expected("prepare_corpus", 9.0, 100), 9: Expected("summarize", 1.0)})
    lines = run.play("success")
    assert (lines.count("prepare kitchen"), sum("of the work" in line for line in lines)) == (jobs, share)


def test_the_plugin_needs_nothing_but_the_standard_library_and_the_interface() -> None:
    environment = {"PYTHONPATH": str(Path(module.__file__).parents[1])}

    def loaded(name: str) -> set[str]:
        program = f"import sys, {name}; print(*{{name.partition('.')[0] for name in sys.modules}})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
        return {*done.stdout.split()} - sys.stdlib_module_names

    assert loaded(module.__name__) - loaded("snakemake_interface_logger_plugins.base") == {module.__name__}
