"""Terminal output of a run: one line per job, the progress, and a final message.

Snakemake logs every event of a run with its details, for logger plugins. This handler reads the same records and replaces the one
that writes to the terminal, so no package has to be installed or configured. Snakemake's own messages go to its log below
``.snakemake/log``, as always; unknown records go to the replaced handler.
"""

import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from beirflow.jobs.overall import Overall

HANDLER = "DefaultStreamHandler"
"""What Snakemake calls its handler for the terminal."""

NOISE = (
    *("Building DAG", "Using shell", "Select jobs", "Execute ", "Conda environments:", "Singularity containers:", "Group jobs:"),
    *("Removing temporary output", "Shutting down", "Exiting because a job execution failed", "Complete log", "Elapsed time"),
    *("Storing in storage", "Retrieving from storage", "Finished upload", "Finished retrieval", "Removing local copy of storage"),
)
"""How lines begin that say nothing about the experiment."""

SILENT = ("workflow_started", "resources_info", "run_info", "job_finished", "progress", "job_started", "shellcmd")
"""Events that are said in other words, or need no words."""

OF_FAILED_JOBS = ("RuleException", "CalledProcessError", "NonZeroExitCode", "SubprocessError")

NOTHING = "Nothing to be done"
INTERRUPTED = "Terminating processes on user request"
ENDING = "Will exit after finishing currently running jobs"
"""What SIGTERM leads to; Snakemake says it again whenever a job ends."""

FAILED = "At least one job did not complete successfully"

UNKNOWN = re.compile(r"No rule to produce (\S+)")

EVERY_SECONDS, AFTER_JOBS_SECONDS = 60.0, 10.0
"""After which the share is said again, while jobs run and when one ends."""

ERROR_IN_LOG = re.compile(r"^[\d-]{10} [\d:,]+ ERROR (.*?)(?=^[\d-]{10} [\d:,]+ [A-Z]+ |\Z)", re.MULTILINE | re.DOTALL)
"""An error in the log of a job, whose lines begin with a time and a level."""


class Terminal(logging.Handler):
    """Handles Snakemake's log records in place of the handler that writes to the terminal.

    Args:
        before: The handler that it replaces.
        command: The command of the run.
        table: The table of all results where they are there and were asked for, else an empty text.
        meant: What a target that no rule makes was perhaps meant to be, for the end of a sentence.
        dry: Whether this is a dry run, whose plan is what Snakemake says.
    """

    def __init__(
        self,
        before: logging.StreamHandler[TextIO],
        command: str,
        table: Callable[[], str],
        meant: Callable[[str], str] = lambda target: "",
        *,
        dry: bool = False,
    ) -> None:
        super().__init__()
        self.before, self.command, self.table, self.meant, self.dry = before, command, table, meant, dry
        self.name = HANDLER
        self.overall: Overall | None = None
        self.interrupted = self._ending = False
        self._messages: dict[int, str] = {}
        self._failed: dict[int, tuple[str, str, str]] = {}
        self._said = 0.0
        self._ended = threading.Event()

    def plan(self, overall: Overall) -> None:
        """Say from now on how far the work is.

        Args:
            overall: The work of all jobs.
        """
        self.overall, self._said = overall, time.monotonic()
        self._say(f"{_counted(len(overall.expected))} to do")
        threading.Thread(target=self._say_often, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Say in our words what is known, and hand on what is not."""
        event, message = str(getattr(record, "event", None) or ""), str(record.msg or "")
        if self.dry and event != "error":
            self.before.handle(record)
        elif event == "job_info":
            self._job_begins(record)
        elif event == "job_finished":
            self._job_ends(record)
        elif event == "job_error":
            self._job_fails(record)
        elif event == "error":
            self._error(record, message)
        elif event in SILENT or (not event and message.startswith(NOISE)):
            return
        else:
            self._other(record, message)

    def close(self) -> None:
        """End the lines about progress."""
        self._ended.set()
        super().close()

    def _other(self, record: logging.LogRecord, message: str) -> None:
        if message.startswith(INTERRUPTED):
            self.interrupted = True
            self._write("Stopping: removing half-written files.")
        elif message.startswith(ENDING):
            if not self._ending:
                self._write("Stopping after the running jobs; no other job starts.")
            self._ending = True
        elif message.startswith(NOTHING):
            self._write(f"Nothing to do: all requested files exist.{self.table()}")
        else:
            self.before.handle(record)

    def _job_begins(self, record: logging.LogRecord) -> None:
        said = vars(record)
        name = said.get("rule_msg") or said["rule_name"]
        self._messages[said["jobid"]] = name
        if self.overall:
            self.overall.begin(said["jobid"], name)
        if said.get("rule_msg") and not self._quiet("rules"):  # the rule all has none, and does nothing
            self._say(name)

    def _job_ends(self, record: logging.LogRecord) -> None:
        self._failed.pop(vars(record)["job_id"], None)  # at another attempt it went well
        if self.overall:
            self.overall.end(vars(record)["job_id"])
            if time.monotonic() - self._said >= AFTER_JOBS_SECONDS:
                self._say_share()

    def _job_fails(self, record: logging.LogRecord) -> None:
        said = vars(record)
        logs = [str(path) for path in said.get("log") or ()]
        name = self._messages.get(said["jobid"], said["rule_name"])
        found = next((error for path in logs if (error := error_in(path))), "")
        if self.overall:
            self.overall.fail(said["jobid"])
        self._failed[said["jobid"]] = name, found, logs[0] if logs else ""
        if not found and not self.interrupted:
            self.before.handle(record)
        elif found:
            self._say(f"failed: {name}")

    def _error(self, record: logging.LogRecord, message: str) -> None:
        """An exception that ends a job or the run."""
        if FAILED in message:
            self._write(self._last_words())
        elif self.interrupted or (vars(record).get("exception") in OF_FAILED_JOBS and "script" in message):
            return
        else:
            self.before.handle(record)
            for target in UNKNOWN.findall(message):
                if near := self.meant(target):
                    self._write(f"{target}: no rule makes this{near}")

    def _last_words(self) -> str:
        again = f"The same command resumes:\n    {self.command}"
        if self.interrupted:
            return f"Interrupted; finished files stay. {again}"
        lines = [f"{name} failed: {_short(found) or 'see its log'}\n    log: {log}" for name, found, log in self._failed.values()]
        return "\n".join(["", *lines, f"Once that is fixed, or if it was temporary: {again[0].lower()}{again[1:]}"])

    def _say_often(self) -> None:
        while not self._ended.wait(AFTER_JOBS_SECONDS):
            if time.monotonic() - self._said >= EVERY_SECONDS:
                with self.lock or threading.Lock():
                    self._say_share()

    def _say_share(self) -> None:
        self._said = time.monotonic()
        if self.overall and not self._quiet("progress"):
            self._say(self.overall.line())

    def _say(self, words: str) -> None:
        self._write(f"{time.strftime('%H:%M:%S')}  {words}")

    def _write(self, words: str) -> None:
        if not self._quiet("all"):
            self.before.stream.write(f"{words}\n")
            self.before.flush()

    def _quiet(self, about: str) -> bool:
        """Whether ``--quiet`` names something, or all."""
        quiet = [each for found in self.before.filters for each in getattr(found, "quiet", None) or ()]
        return not {about, "all"}.isdisjoint(str(getattr(each, "name", each)).lower() for each in quiet)


def _counted(jobs: int) -> str:
    return "1 job" if jobs == 1 else f"{jobs:,} jobs"


def _short(error: str) -> str:
    """The first line of what a job has said already in full."""
    first, _, more = error.partition("\n")
    return f"{first} …" if more else first


def error_in(path: str) -> str:
    """What a job said last before it failed.

    Args:
        path: Its log.

    Returns:
        The error, empty where the log has none.
    """
    try:
        found = ERROR_IN_LOG.findall(Path(path).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return found[-1].strip() if found else ""


def take_over_terminal(
    logger: logging.Logger,
    command: str,
    table: Callable[[], str],
    meant: Callable[[str], str] = lambda target: "",
    *,
    dry: bool = False,
) -> Terminal | None:
    """Let the terminal show what a person needs to know of a run.

    Args:
        logger: Snakemake's.
        command: The command of the run.
        table: Gives the table of all results, where they are there and were asked for.
        meant: What a target that no rule makes was perhaps meant to be.
        dry: Whether this is a dry run.

    Returns:
        What says it; None where another logger writes to the terminal.
    """
    for handler in logger.handlers:
        if handler.name == HANDLER and isinstance(handler, logging.StreamHandler):
            terminal = Terminal(handler, command, table, meant, dry=dry)
            logger.removeHandler(handler)
            logger.addHandler(terminal)
            return terminal
    return None
