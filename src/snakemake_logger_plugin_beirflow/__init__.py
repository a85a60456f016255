"""Terminal output of a run: one line per job, the progress, and a final message. A logger plugin, ``--logger beirflow``.

Snakemake imports it before it reads a Snakefile, in every workflow of this environment: it needs nothing but the standard library
and the interface. It relies on the events of that interface, on names of exceptions, and on what the workflow gives it
(:meth:`LogHandler.follow`), never on Snakemake's sentences. Messages without an event, below a warning, are only in Snakemake's
log in ``.snakemake/log``.
"""

import logging
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_beirflow.run_state import Progress, Workflow

current: "LogHandler | None" = None
"""The handler of this run, to which the workflow gives what it knows; None if another logger was chosen."""

SHOWN = {LogEvent.GROUP_INFO: "rules", LogEvent.GROUP_ERROR: "rules", LogEvent.DEBUG_DAG: ""}
"""Events in Snakemake's words, with what ``--quiet`` calls them; others have a line of ours, or need none."""

OF_FAILED_JOBS = ("RuleException", "CalledProcessError", "NonZeroExitCode", "SubprocessError")
"""Exceptions that Snakemake logs when a job fails, whose error the job has written."""

LOCKED = "LockException"  # exception for a working folder in which another run writes the same files, or was killed
NO_RULE = "MissingRuleException"  # exception for a target that no rule makes
IN_A_PLAN = "InputFunctionException"  # exception around an error in an input function
OURS = "ConfigError: "  # before the message of an error of ours inside such an exception, which adds places in rule files

KILLED = (
    "a run of this working folder that was killed, or the power lost, left its lock, unless another run in this folder writes the"
    " same files. If none does, remove the lock with"
)
"""Meaning of a lock of Snakemake; the command that removes it follows."""

SILENTLY = (
    "it ended without an error of its own; its exit status is above. 126 or 127: the shell could not start its program, and says"
    " why. Otherwise memory most likely ran out: fewer --cores, a smaller token_budget or fewer chunk_documents need less"
)
"""Reason of a job that wrote no error: it never started, or the system ended it, since Python writes one."""

RERUN = "Rerun the same command after fixing this, or if it was temporary; finished jobs are kept"

ELSEWHERE = " with this configuration; docs/targets.md lists every file, and `snakemake --cores 1` the usual ones"

EVERY_SECONDS, AFTER_JOBS_SECONDS = 60.0, 10.0  # time between two lines about progress, while jobs run and when one ends

COLORS = {logging.WARNING: 33, logging.ERROR: 31}


class LogHandler(LogHandlerBase):
    """Handler of Snakemake's log records, in place of its own for the terminal."""

    def __post_init__(self) -> None:
        """Write to the stream that Snakemake would have written to."""
        global current
        current = self
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr  # None if it was closed before Python started
        self.quiet = {str(getattr(each, "name", each)).lower() for each in self.common_settings.quiet or ()}
        self.dry = self.common_settings.dryrun
        self.workflow: Workflow | None = None
        self.progress: Progress | None = None
        self.interrupted = self.stopping = self._told_to_stop = False
        self._started = self._planned = self._begun = self._wrong = False
        self._ended_badly = float("inf")
        self._messages: dict[int, str] = {}
        self._failed: dict[int, tuple[str, str, str]] = {}
        self._judged = False  # whether a job ended with a verdict, which it has printed
        self._held: list[logging.LogRecord] = []  # errors that the next failed job may explain better
        self._latest = ""
        self._told = time.monotonic()
        self._over = threading.Event()

    @property
    def writes_to_stream(self) -> bool:
        """Test whether it replaces Snakemake's own handler."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Test whether it writes a log file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Test whether it obeys ``--quiet`` itself: in a dry run it prints what Snakemake's filter lets pass."""
        return not self.common_settings.dryrun

    @property
    def has_formatter(self) -> bool:
        """Test whether it brings a formatter: what it has no words for, it prints as Snakemake's formatter has it."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """Test whether it shows the graph of the rules."""
        return False

    def follow(self, workflow: Workflow) -> None:
        """Take what the workflow knows of its run."""
        self.workflow = workflow
        threading.Thread(target=self._report_often, daemon=True).start()

    def plan(self, progress: Progress) -> None:
        """Report progress from now on."""
        self.progress, self._told = progress, time.monotonic()
        self._line(progress.beginning())

    def say(self, words: str) -> None:
        """Print a message that belongs to no job, if there is one."""
        if words:
            self._write(words)

    def note_interrupt(self) -> None:
        """Take notice that SIGINT has come, without words: what it interrupts may be printing."""
        self.interrupted = True

    def interrupt(self) -> None:
        """Say that SIGINT has come."""
        if self._begun and not self._told_to_stop and not self._over.is_set():
            self._write("Stopping: removing half-written files.")
        self.interrupted = self._told_to_stop = True

    def stop(self) -> None:
        """Take notice that SIGTERM has come: Snakemake waits for the running jobs."""
        if not self.stopping:
            self.stopping = True  # first, since a reader that has gone leads here again
            self._write("Stopping after the running jobs; no other job starts.")

    def fail(self) -> None:
        """Take notice that the run has ended badly: its last error says no more than that."""
        self._ended_badly = time.time()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record: in our words what they are known for, otherwise in Snakemake's. Raises nothing."""
        try:
            known = self._put_in_words(record)
        except Exception:  # e.g. a record without an attribute that it had
            known = False
        if not known:
            self._show(record)

    def _put_in_words(self, record: logging.LogRecord) -> bool:
        """Print in our words what they are known for; return False for what is to be printed in Snakemake's."""
        event, facts = getattr(record, "event", None), vars(record)
        self._started |= event == LogEvent.WORKFLOW_STARTED
        self._planned |= event == LogEvent.RUN_INFO
        if event == LogEvent.ERROR:
            self._wrong = True
            return self._handle_exception(record, str(facts.get("exception")))
        if self.dry:
            return False
        if not event:
            return self._handle_message(record)
        if event == LogEvent.JOB_INFO:
            self._begin_job(facts["jobid"], facts["rule_name"], facts["rule_msg"], facts.get("log"))
        elif event == LogEvent.JOB_FINISHED:
            self._end_job(facts["job_id"])
        elif event == LogEvent.JOB_ERROR:
            return self._fail_job(facts["jobid"], facts["rule_name"], facts["log"])
        return event not in SHOWN or SHOWN[event] in self.quiet

    def _handle_message(self, record: logging.LogRecord) -> bool:
        """Hide what Snakemake tells of itself, and what it adds to the errors of jobs; return False for other messages."""
        if record.levelno < logging.WARNING:
            self._latest = record.getMessage()
            return not self.common_settings.verbose
        if record.levelno >= logging.ERROR and (self._failed or self._judged or self._is_stopped):
            self._held.append(record)
            return True
        return False

    @property
    def _is_stopped(self) -> bool:
        return self.interrupted or self.stopping

    def _begin_job(self, jobid: int, rule_name: str, rule_msg: str | None, log: Collection[str] | None) -> None:
        self._begun = True
        name = self._messages[jobid] = rule_msg or rule_name
        if self.progress and self.workflow:
            self.progress.begin(jobid, name, partial(self.workflow.share, next(iter(log or ()), "")))
        if rule_msg and "rules" not in self.quiet:  # the rule all has no message, and does nothing
            self._line(name)

    def _end_job(self, jobid: int) -> None:
        self._failed.pop(jobid, None)  # at another attempt it went well
        if self.progress:
            self.progress.end(jobid)
            if not self.progress.is_done and time.monotonic() - self._told >= AFTER_JOBS_SECONDS:
                self._report_share()

    def _fail_job(self, jobid: int, rule_name: str, log: Collection[str]) -> bool:
        name = self._messages.get(jobid, rule_name)
        errors = [self.workflow.error(path) for path in log] if self.workflow else []
        error = next((text for text, _ in errors if text), "")
        if self.progress:
            self.progress.fail(jobid)
        held, self._held = self._held, []
        if any(verdict for _, verdict in errors):
            self._judged = True
            return True
        if not error and self._is_stopped:
            return True  # the signal reached it too
        self._failed[jobid] = name, error, next(iter(log), "")
        if error:
            self._line(f"failed: {name}")
            return True
        for each in held:
            self._show(each)
        return False

    def _handle_exception(self, record: logging.LogRecord, exception: str) -> bool:
        """Put an exception into our words; return False for one that neither a failed job nor an interrupt explains."""
        message = record.getMessage()
        if exception in OF_FAILED_JOBS and self._begun:
            self._held.append(record)
            return True
        if self.interrupted or record.created >= self._ended_badly or not self.workflow:
            return bool(self.workflow)
        if exception == LOCKED:  # Snakemake would advise to unlock the folder also under a run that lives
            self._write(self.workflow.living() or f"{Path.cwd()}: {KILLED}:\n    {unlocking(self.workflow.command)}")
            return True
        if exception == IN_A_PLAN and OURS in message:
            self._write(message.partition(OURS)[2].partition("\n")[0])
            return True
        if exception == NO_RULE and (named := [word for word in sys.argv[1:] if word in message]):
            target = max(named, key=len)
            self._show(record)
            self._write(f"{target}: unknown target{self.workflow.meant(target) or ELSEWHERE}")
            return True
        return False

    def close(self) -> None:
        """Print the last words of the run. Raises SystemExit if nothing was to do and the workflow does not accept that."""
        if self._over.is_set():
            return
        self._over.set()
        unfinished = sys.exc_info()[1]  # which ends the run
        self.interrupted |= isinstance(unfinished, KeyboardInterrupt)
        try:
            if self.workflow and not self.dry:
                unexplained = self._ended_badly < time.time() and not (self._failed or self._judged or self._is_stopped)
                for record in self._held if unexplained else ():
                    self._show(record)
                if self._failed or self._is_stopped or unexplained:
                    self._write(self._last_words(self.workflow.command))
                elif self._started and not (self._planned or self._wrong or unfinished):
                    self._write(f"Nothing to do: all requested files exist.{self.workflow.nothing()}")
        except Exception:
            self.handleError(logging.makeLogRecord({"msg": "the last words of the run"}))
        finally:
            super().close()

    def _last_words(self, command: str) -> str:
        """Return which jobs failed and why, and how to resume."""
        if self.interrupted or (self.stopping and not self._failed):
            return f"Interrupted; finished files are kept. The same command resumes:\n    {command}"
        lines, told = list[str](), set[str]()
        for name, error, log in self._failed.values():
            why = "for the same reason" if error in told else _short(error) or SILENTLY
            lines.append(f"{name} failed: {why}\n    log: {log}")
            told |= {error} if error else set()
        return "\n".join(["", *lines, f"{RERUN}:\n    {command}"])

    def _report_often(self) -> None:
        while not self._over.wait(AFTER_JOBS_SECONDS):
            with self.lock or threading.RLock():  # which records and reports share
                if self._begun and time.monotonic() - self._told >= EVERY_SECONDS:
                    self._report_share()
                elif not self._begun and self._latest:  # what takes so long before the first job, such as an environment of conda
                    self._line(self._latest)
                self._latest = ""

    def _report_share(self) -> None:
        self._told = time.monotonic()
        if self.progress and "progress" not in self.quiet:
            self._line(self.progress.line())

    def _show(self, record: logging.LogRecord) -> None:
        """Print a record in Snakemake's words."""
        try:
            words = self.format(record)
        except Exception:
            words = record.getMessage()
        if not words or words == "None":
            return
        if self.dry and getattr(record, "event", None) == LogEvent.JOB_INFO:
            words = f"\n{words}"
        level = max((level for level in COLORS if level <= record.levelno), default=0)
        if level and not self.common_settings.nocolor and self.stream and self.stream.isatty():
            words = f"\033[{COLORS[level]}m{words}\033[0m"
        self._write(words)

    def _line(self, words: str) -> None:
        self._write(f"{time.strftime('%H:%M:%S')}  {words}")

    def _write(self, words: str) -> None:
        """Print words; where nobody reads any more, end the run."""
        if not self.stream or ("all" in self.quiet and not self.dry):
            return
        try:
            self.stream.write(f"{words}\n")
            self.stream.flush()
        except BrokenPipeError:
            self.stream = None
            # Not SIGTERM: Snakemake's handler takes a lock that the interrupted code may hold.
            os.kill(os.getpid(), signal.SIGINT)
        except (OSError, ValueError):  # e.g. a full disk of the file behind it, but not of the results
            self.handleError(logging.makeLogRecord({"msg": words}))


def _short(error: str) -> str:
    """Return the first line of an error that its job has printed in full."""
    first, _, more = error.partition("\n")
    return f"{first} …" if more else first


def unlocking(command: str) -> str:
    """Return a command with ``--unlock``, before ``--``: behind that there are only targets."""
    words = shlex.split(command)
    words.insert(words.index("--") if "--" in words else len(words), "--unlock")
    return shlex.join(words)
