"""Lines of a run in the terminal: jobs, progress, last words; from records that Snakemake logged (record_log_stream.py)."""

import io
import json
import logging
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from snakemake.logging import logger as snakemake_logger

from beirflow.core.layout import job_error
from beirflow.core.records import write_json
from beirflow.run.overall import Expected, Overall
from beirflow.run.snakemake_internals import terminal as module
from beirflow.run.snakemake_internals.terminal import HANDLER, SILENTLY, Terminal, error_beside, take_over_terminal
from record_log_stream import SCENES, STREAM

COMMAND = "snakemake --cores 2 --configfile my.yaml -- results/summary.csv"
SENTENCE = "corpus.jsonl:41: the document id 'd1' is already in line 1; ids must be unique"
RESUME = ["The same command resumes:", f"    {COMMAND}"]

RECORDS = [json.loads(line) for line in STREAM.read_text(encoding="utf-8").splitlines()[1:]]


class Run:
    def __init__(self, *quiet: str, dry: bool = False) -> None:
        self.stream = io.StringIO()
        before = logging.StreamHandler(self.stream)
        self.terminal = Terminal(before, COMMAND, lambda: "\n\nthe table", _nearest, quiet=quiet, dry=dry)

    def log(self, **facts: Any) -> None:
        self.terminal.handle(logging.makeLogRecord(facts))

    def play(self, scene: str) -> list[str]:
        """Let Snakemake log what it logged in a scene; return the lines without times."""
        for record in RECORDS:
            if record["scene"] == scene:
                self.log(**record)
        lines = [line for line in self.lines if not line.startswith(("Config file", "Assuming"))]
        return [line[10:] if line[2:3] == ":" else line for line in lines]

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


def test_every_scene_is_recorded_to_its_end() -> None:
    assert list(dict.fromkeys(record["scene"] for record in RECORDS)) == list(SCENES)
    with_jobs = {record["scene"] for record in RECORDS if record.get("event") == "job_info"}
    assert with_jobs == {"success", "failure", "SIGINT", "SIGTERM"}


def test_a_run_that_succeeds_shows_its_jobs_and_one_with_nothing_to_do_the_table() -> None:
    assert Run().play("success") == ["prepare kitchen"]
    assert Run().play("nothing to do") == ["Nothing to do: all requested files exist.", "", "the table"]


@pytest.mark.parametrize(
    ("status", "reason"), [(126, "the shell may not execute"), (127, "the shell did not find"), (1, SILENTLY)]
)
def test_a_program_that_did_not_start_is_not_blamed_on_memory(status: int, reason: str) -> None:
    run = Run()
    failure = [record for record in RECORDS if record["scene"] == "failure"]
    for record in failure:
        message = re.sub(r"(exit status) \d+", rf"\1 {status}", str(record["msg"]))
        run.log(**record | {"msg": message})
    (last,) = [line for line in run.lines if line.startswith("prepare debate failed: ")]
    assert last.startswith(f"prepare debate failed: {reason}")
    assert ("memory" in last) == (status == 1)


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
        f"Once that is fixed, or if it was temporary: t{RESUME[0][1:]}",
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
    run.log(**next(record for record in reversed(RECORDS) if record["scene"] == "failure"))
    assert any(line.startswith("Once that is fixed") for line in run.lines)
    assert not [line for line in run.lines if " failed: " in line and "prepare debate failed" in line]


@pytest.mark.parametrize("dry", [False, True])
def test_a_target_that_no_rule_makes_is_answered_with_the_nearest(*, dry: bool) -> None:
    lines = Run(dry=dry).play("unknown target")
    assert lines[-1] == "results/demo/sumary.csv: no rule makes this; did you mean 'results/demo/summary.csv'?"
    assert lines[-2].startswith("No rule to produce results/demo/sumary.csv")
    assert ("Building DAG of jobs..." in lines) == dry


def test_where_no_target_is_near_the_answer_is_where_they_are_listed() -> None:
    run = Run()
    run.log(msg="MissingRuleException:\nNo rule to produce my results/judge (if ", levelno=logging.ERROR, event="error")
    assert run.lines[-1].startswith(
        "my results/judge: no rule makes this with this configuration; docs/targets.md lists every file"
    )


def test_other_errors_and_warnings_are_handed_on() -> None:
    run = Run()
    run.log(msg="the scheduler failed", levelno=logging.ERROR, event="error", exception="WorkflowError")
    run.log(msg="clock skew", levelno=logging.WARNING)
    run.log(msg="Job 4 has been submitted with SLURM jobid 8.", levelno=logging.INFO)
    assert run.lines == ["the scheduler failed", "clock skew", "Job 4 has been submitted with SLURM jobid 8."]


def test_a_run_goes_on_where_its_lines_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    closed, full = Run(), Run()
    closed.terminal.before.stream = None  # type: ignore[assignment]
    full.terminal.before.stream = open("/dev/full", "w")  # noqa: PTH123, SIM115 (the handler has it)
    for run in (closed, full):
        run.terminal.plan(Overall({}))
        run.log(**next(record for record in RECORDS if record.get("event") == "job_info"))
    assert "No space left on device" in capsys.readouterr().err


def test_a_run_whose_reader_has_gone_ends_and_waits_for_no_job_whose_end_it_could_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, sent = Run(), list[object]()
    read, written = os.pipe()
    os.close(read)
    run.terminal.before.stream = open(written, "w")  # noqa: PTH123, SIM115 (the handler has it)
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    begun = next(record for record in RECORDS if record.get("event") == "job_info")
    with pytest.raises(BrokenPipeError):
        run.log(**begun)
    job = threading.Thread(target=run.log, kwargs=begun)
    job.start()
    job.join()
    assert sent == [(os.getpid(), signal.SIGTERM)]
    with pytest.raises(BrokenPipeError):
        run.terminal.before.stream.close()


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
    run.terminal.living = lambda: "another run writes these results"
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
    lines = Run().play("SIGINT")
    assert lines[-3:] == ["Stopping: removing half-written files.", f"Interrupted; finished files stay. {RESUME[0]}", RESUME[1]]
    assert len(lines) == 4
    lines = Run().play("SIGTERM")
    assert lines.count("Stopping after the running jobs; no other job starts.") == 1
    assert lines[-1] == RESUME[1]


def test_an_interruption_of_an_input_function_is_one_too() -> None:
    run = Run()
    message = (
        "InputFunctionException in rule index_chunk in file lexical.smk:\nError:\n  KeyboardInterrupt: \nWildcards:\n  chunk=3"
    )
    run.log(msg=message, levelno=logging.ERROR, event="error", exception="InputFunctionException")
    assert run.lines == [f"Interrupted; finished files stay. {RESUME[0]}", RESUME[1]]


def test_the_share_is_said_when_a_job_ends_but_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    run.terminal.plan(Overall({0: Expected("prepare_corpus", 9.0, 100), 9: Expected("summarize", 1.0)}))
    assert run.lines[0].endswith("2 jobs to do, about 10 s (guess)")
    assert not [line for line in run.play("success") if "of the work" in line]
    monkeypatch.setattr(module, "AFTER_JOBS_SECONDS", 0.0)
    assert [line for line in run.play("success") if "90% of the work, 100 of 100 documents" in line]
    run.terminal.plan(Overall({0: Expected("prepare_corpus", 8000.0)}))
    assert run.lines[-1].endswith("  1 job to do"), "a run of hours says more"
    assert run.play("success")[-1] == "prepare kitchen", "nothing is left, which the end says"
    run.terminal.close()


@pytest.mark.parametrize(("quiet", "jobs", "share"), [("rules", 0, 1), ("progress", 1, 0), ("all", 0, 0), ("reason", 1, 1)])
def test_quiet_is_obeyed(quiet: str, jobs: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_JOBS_SECONDS", 0.0)
    run = Run(quiet)
    run.terminal.overall = Overall({0: Expected("prepare_corpus", 9.0, 100), 9: Expected("summarize", 1.0)})
    lines = run.play("success")
    assert (lines.count("prepare kitchen"), sum("of the work" in line for line in lines)) == (jobs, share)


def test_the_handler_of_the_terminal_is_replaced_unless_another_logger_writes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = logging.StreamHandler(io.StringIO())
    monkeypatch.setattr(snakemake_logger, "handlers", [handler])
    assert take_over_terminal(lambda replaced: Terminal(replaced, COMMAND, str, _nearest)) is None
    handler.name = HANDLER
    terminal = take_over_terminal(lambda replaced: Terminal(replaced, COMMAND, str, _nearest))
    assert snakemake_logger.handlers == [terminal]
    assert terminal.before is handler


def test_the_error_of_a_job_is_read_from_beside_its_log(tmp_path: Path) -> None:
    log = tmp_path / "a.b.log"
    assert error_beside(str(log)) == ""
    write_json(tmp_path / "a.b.error.json", {"error": "first line\n  second line"})
    assert error_beside(str(log)) == "first line\n  second line"
    job_error(log).write_text("{")
    assert error_beside(str(log)) == ""
