"""What a run says: jobs, progress, and last words of ours; with records as Snakemake logs them."""

import io
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from beirflow.jobs.overall import Expected, Overall
from beirflow.jobs.terminal import HANDLER, Terminal, error_in, take_over_terminal

COMMAND = "snakemake --cores 2 --configfile my.yaml -- results/summary.csv"
SENTENCE = "corpus.jsonl:2: the document id 'd1' is already in line 1; ids must be unique"


class Run:
    """A logger like Snakemake's with its handler, which a terminal has replaced."""

    def __init__(self, *quiet: str) -> None:
        self.stream = io.StringIO()
        before = logging.StreamHandler(self.stream)
        before.name = HANDLER
        before.addFilter(_Quiet([SimpleNamespace(name=each.upper()) for each in quiet]))
        self.logger = logging.Logger("snakemake.like", logging.INFO)
        self.logger.addHandler(before)
        terminal = take_over_terminal(self.logger, COMMAND, lambda: "\n\nthe table")
        assert terminal
        self.terminal: Terminal = terminal

    def log(self, message: str | None, level: int = logging.INFO, **facts: Any) -> None:
        self.logger.log(level, message, extra=facts)

    def begin(self, jobid: int, name: str) -> None:
        self.log(" Rule: x", event="job_info", jobid=jobid, rule_msg=name, rule_name="x")

    @property
    def said(self) -> str:
        return self.stream.getvalue()


class _Quiet(logging.Filter):
    def __init__(self, quiet: list[Any]) -> None:
        super().__init__()
        self.quiet = quiet


def write_log(path: Path, sentence: str = SENTENCE) -> str:
    path.write_text(
        f"2026-01-01 10:00:00,1 INFO begins\n2026-01-01 10:00:01,1 ERROR {sentence}\n2026-01-01 10:00:02,1 INFO ends\n"
    )
    return str(path)


def fail(run: Run, log: str) -> None:
    run.begin(4, "prepare bad")
    run.log(
        "CalledProcessError in file corpus.smk\nCommand 'python script.py'",
        logging.ERROR,
        event="error",
        exception="RuleException",
    )
    run.log("Error in rule x", logging.ERROR, event="job_error", jobid=4, rule_name="x", log=[log])
    run.log("Exiting because a job execution failed. Look below for error messages", logging.ERROR)
    fail_at_last(run)


def fail_at_last(run: Run) -> None:
    run.log(
        "WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR, event="error", exception="WorkflowError"
    )


def test_an_error_ends_with_our_sentence_and_the_command_that_goes_on(tmp_path: Path) -> None:
    run = Run()
    fail(run, write_log(tmp_path / "prepare.log"))
    assert run.said.splitlines()[0].endswith("  prepare bad")
    assert run.said.splitlines()[1].endswith("  failed: prepare bad")
    assert run.said.splitlines()[2:] == [
        "",
        f"prepare bad failed: {SENTENCE}",
        f"    log: {tmp_path}/prepare.log",
        "Once that is fixed, or if it was temporary: the same command resumes:",
        f"    {COMMAND}",
    ]


def test_an_error_that_no_log_explains_keeps_what_snakemake_says_of_it(tmp_path: Path) -> None:
    run = Run()
    fail(run, str(tmp_path / "none.log"))
    assert "Error in rule x" in run.said
    assert "prepare bad failed: see its log" in run.said


def test_a_job_that_goes_well_at_another_attempt_has_not_failed(tmp_path: Path) -> None:
    run = Run()
    run.begin(4, "prepare good")
    run.log("Error in rule x", logging.ERROR, event="job_error", jobid=4, rule_name="x", log=[write_log(tmp_path / "a.log")])
    run.log("Finished", event="job_finished", job_id=4)
    fail_at_last(run)
    assert "prepare good failed" not in run.said


def test_a_target_that_no_rule_makes_is_answered_with_the_nearest() -> None:
    run = Run()
    run.terminal.meant = lambda target: f"; did you mean '{target.replace('sumary', 'summary')}'?"
    run.terminal.dry = True
    run.log("Building DAG of jobs...")
    message = "No rule to produce results/sumary.csv (if you use input functions …)."
    run.log(message, logging.ERROR, event="error", exception="MissingRuleException")
    expected = "results/sumary.csv: no rule makes this; did you mean 'results/summary.csv'?"
    assert run.said.splitlines() == ["Building DAG of jobs...", message, expected]


def test_other_errors_and_warnings_are_handed_on() -> None:
    run = Run()
    run.log("No rule to produce x", logging.ERROR, event="error", exception="MissingRuleException")
    run.log("clock skew", logging.WARNING)
    run.log("Trying to restart job 4.")
    assert run.said.splitlines() == ["No rule to produce x", "clock skew", "Trying to restart job 4."]


def test_that_the_jobs_that_run_are_waited_for_is_said_once() -> None:
    run = Run()
    for _ in range(3):
        run.log("Will exit after finishing currently running jobs (scheduler).")
    assert run.said.splitlines() == ["Stopping after the running jobs; no other job starts."]


def test_an_interruption_says_that_the_same_command_goes_on(tmp_path: Path) -> None:
    run = Run()
    run.begin(1, "encode chunk 0 of x with y")
    run.log("Terminating processes on user request, this might take some time.")
    run.log("Error in rule x", logging.ERROR, event="job_error", jobid=1, rule_name="x", log=[])
    run.log("CalledProcessError", logging.ERROR, event="error", exception="CalledProcessError")
    run.log("At least one job did not complete successfully.", logging.ERROR, event="error", exception="WorkflowError")
    assert run.said.splitlines()[1:] == [
        "Stopping: removing half-written files.",
        "Interrupted; finished files stay. The same command resumes:",
        f"    {COMMAND}",
    ]


def test_a_run_with_nothing_to_do_prints_the_table() -> None:
    run = Run()
    run.log("Building DAG of jobs...")
    run.log("Nothing to be done (all requested files are present and up to date).")
    assert run.said == "Nothing to do: all requested files exist.\n\nthe table\n"


def test_noise_goes_to_the_log_alone() -> None:
    run = Run()
    for event in ("workflow_started", "resources_info", "run_info", "progress", "job_started"):
        run.log("noise", event=event)
    for line in ("Using shell: /bin/bash", "Select jobs to execute...", "Complete log(s): x", "Removing temporary output x."):
        run.log(line)
    for line in (
        "Storing in storage: s3://b/x",
        "Finished upload.",
        "Removing local copy of storage file: s3://b/x (in storage)",
    ):
        run.log(line)
    assert run.said == ""


def test_the_share_is_said_when_a_job_ends_but_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    run.terminal.plan(Overall({1: Expected("encode_chunk", 9.0, 100), 2: Expected("encode_chunk", 9.0, 100)}))
    run.begin(1, "encode chunk 0")
    run.log("Finished", event="job_finished", job_id=1)
    assert "of the work" not in run.said
    monkeypatch.setattr("beirflow.jobs.terminal.AFTER_JOBS_SECONDS", 0.0)
    run.begin(2, "encode chunk 1")
    run.log("Finished", event="job_finished", job_id=2)
    run.terminal.close()
    assert "100% of the work, 200 of 200 documents" in run.said


@pytest.mark.parametrize(("quiet", "jobs", "share"), [("rules", 0, 1), ("progress", 1, 0), ("all", 0, 0), ("reason", 1, 1)])
def test_quiet_is_obeyed(quiet: str, jobs: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beirflow.jobs.terminal.AFTER_JOBS_SECONDS", 0.0)
    run = Run(quiet)
    run.terminal.overall = Overall({1: Expected("encode_chunk", 9.0, 100)})
    run.begin(1, "encode chunk 0")
    run.log("Finished", event="job_finished", job_id=1)
    assert (run.said.count("encode chunk 0"), run.said.count("of the work")) == (jobs, share)


def test_where_another_logger_writes_to_the_terminal_nothing_is_replaced() -> None:
    logger = logging.Logger("other")
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    assert take_over_terminal(logger, COMMAND, str) is None


def test_the_last_error_of_a_log_is_found_with_all_its_lines(tmp_path: Path) -> None:
    assert error_in(write_log(tmp_path / "a.log", "first line\n  second line")) == "first line\n  second line"
    assert error_in(str(tmp_path / "none.log")) == ""
