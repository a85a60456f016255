"""Terminal output of a run: one line per job, the progress, and a final message.

This handler of Snakemake's log replaces the one that writes to the terminal. It cannot be a logger plugin, because Snakemake
looks for plugins among installed packages, before it reads the Snakefile; but it reads the events and attributes that the
interface of plugins defines. Only messages without an event are recognised by their beginning. Snakemake's own messages go to its
log below ``.snakemake/log``, as always; unknown records go to the replaced handler.
"""

import logging
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TextIO

from snakemake_interface_logger_plugins.common import LogEvent

from beirflow.core.errors import DataError
from beirflow.core.layout import job_error
from beirflow.core.progress import logged_share
from beirflow.core.records import read_json
from beirflow.run.overall import LONG, Overall, duration

HANDLER = "DefaultStreamHandler"  # Snakemake's name of its handler for the terminal

NOISE = (
    *("Building DAG", "Using shell", "Select jobs", "Conda environments:", "Singularity containers:", "Group jobs:"),
    *("Removing temporary output", "Shutting down", "Exiting because a job execution failed", "Complete log", "Elapsed time"),
    *("Assuming unrestricted shared filesystem usage", "Cannot restore"),  # the second, of an archive that was not downloaded
    *("Storing in storage", "Retrieving from storage", "Finished upload", "Finished retrieval", "Removing local copy of storage"),
)
"""Beginnings of messages without an event that tell nothing about the experiment."""

NOTHING = "Nothing to be done"
INTERRUPTED = "Terminating processes on user request"
ENDING = "Will exit after finishing currently running jobs"  # after SIGTERM; Snakemake repeats it whenever a job ends

SILENT = {
    *(LogEvent.WORKFLOW_STARTED, LogEvent.RESOURCES_INFO, LogEvent.RUN_INFO, LogEvent.PROGRESS),
    *(LogEvent.JOB_STARTED, LogEvent.SHELLCMD),
}
"""Events that have a line of ours, or need none."""

OF_FAILED_JOBS = ("RuleException", "CalledProcessError", "NonZeroExitCode", "SubprocessError")
"""Exceptions that Snakemake logs when a script fails, whose error the job has written."""

FAILED = "At least one job did not complete successfully"  # in the exception that ends a run
LOCKED = "LockException"  # exception for a working folder in which another run writes the same files, or was killed

KILLED = (
    "a run of this working folder that was killed, or the power lost, left its lock, unless another run in this folder writes the"
    " same files. If none does, remove the lock with"
)
"""What a lock of Snakemake says; the command that removes it follows."""

SILENTLY = (
    "it ended without an error of its own. Unless something above explains it, memory most likely ran out: fewer --cores, a"
    " smaller token_budget or fewer chunk_documents need less"
)
"""Reason of a job that wrote no error: the system ended it, since Python writes one."""

NOT_STARTED = {
    126: "the shell may not execute its program (exit status 126, with the shell's reason above): check the permissions of that"
    " program, and whether its file system is mounted noexec",
    127: "the shell did not find its program (exit status 127, with its name above): if it is the Python of this environment, it"
    " was moved or deleted, so make the environment again",
}
"""Reasons of a job whose program did not start, by the exit status of a shell."""

EXIT_STATUS = re.compile(r"returned non-zero exit status (\d+)")

OURS = re.compile(r"^ *ConfigError: (.*)$", re.MULTILINE)  # an error of ours inside one of Snakemake's, with places in rule files

IN_A_PLAN = re.compile(r"^ *KeyboardInterrupt: *$", re.MULTILINE)  # an interrupt inside an input function

DATED = re.compile(r"has older modification time \(.+?\) than input (.+) \((.+?)\)\. .*clock skew")
"""Sentence of Snakemake about an output that is older than an input: its path, and its time of change."""

UNKNOWN = re.compile(r"No rule to produce (.+?) \(if ")
ELSEWHERE = " with this configuration; docs/targets.md lists every file, and snakemake without a target the usual ones"

EVERY_SECONDS, AFTER_JOBS_SECONDS = 60.0, 10.0  # time between two lines about progress, while jobs run and when one ends


class Terminal(logging.Handler):
    """Handler of Snakemake's log records in place of ``before``, the handler that writes to the terminal.

    Args:
        before: The replaced handler.
        command: The command of the run.
        table: Returns the table of all results if it was asked for and is there, else an empty text.
        meant: Returns the probable meaning of a target that no rule makes, for the end of a sentence.
        living: Returns what to do about another run that has the results; None without one.
        stopping: Called once the run stops after an interrupt.
        quiet: What ``--quiet`` suppresses: rules, progress, all.
        dry: Whether this is a dry run, whose plan Snakemake prints.
    """

    def __init__(
        self,
        before: logging.StreamHandler[TextIO],
        command: str,
        table: Callable[[], str],
        meant: Callable[[str], str],
        living: Callable[[], str | None] = lambda: None,
        stopping: Callable[[], None] = lambda: None,
        *,
        quiet: Collection[str] = (),
        dry: bool = False,
    ) -> None:
        super().__init__()
        self.before, self.command, self.table, self.meant, self.living = before, command, table, meant, living
        self.stopping = stopping
        self.quiet, self.dry = quiet, dry
        self.name = HANDLER
        self.overall: Overall | None = None
        self.interrupted = self._ending = False
        self._messages: dict[int, str] = {}
        self._failed: dict[int, tuple[str, str, str]] = {}
        self._judged = False  # whether a job ended with a verdict, which it has printed
        self._not_started = dict[str, None]()  # reasons; Snakemake names the exit status of a job, but not the job
        self._told = 0.0
        self._ended = threading.Event()

    def plan(self, overall: Overall) -> None:
        """Report progress from now on."""
        self.overall, self._told = overall, time.monotonic()
        jobs, seconds = len(overall.expected), overall.seconds_left()
        about = f", about {duration(seconds)} (guess)" if seconds < LONG else ""
        self._line(f"{'1 job' if jobs == 1 else f'{jobs:,} jobs'} to do{about}")
        threading.Thread(target=self._report_often, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; where nobody reads any more, end the run, as Snakemake does."""
        try:
            self._emit(record)
        except BrokenPipeError:
            if threading.current_thread() is threading.main_thread():
                raise
            os.kill(os.getpid(), signal.SIGTERM)  # an error in the thread of a job would let Snakemake wait for the job for ever

    def _emit(self, record: logging.LogRecord) -> None:
        """Put into our words what is known, and hand on what is not."""
        event, facts, message = getattr(record, "event", None), vars(record), str(record.msg or "")
        if self.dry and event != LogEvent.ERROR:
            known = False
        elif event == LogEvent.JOB_INFO:
            known = self._begin_job(facts["jobid"], facts["rule_name"], facts["rule_msg"], facts.get("log"))
        elif event == LogEvent.JOB_FINISHED:
            known = self._end_job(facts["job_id"])
        elif event == LogEvent.JOB_ERROR:
            known = self._fail_job(facts["jobid"], facts["rule_name"], facts["log"])
        elif event == LogEvent.ERROR:
            known = self._handle_exception(str(facts.get("exception")), message)
        else:
            known = event in SILENT or (not event and self._reword(message))
        if not known:
            self.before.handle(record)
        if event == LogEvent.ERROR:
            for target in UNKNOWN.findall(message):
                self._write(f"{target}: no rule makes this{self.meant(target) or ELSEWHERE}")

    def say(self, words: str) -> None:
        """Print a message that belongs to no job, if there is one."""
        if words:
            self._write(words)

    def close(self) -> None:
        """End the lines about progress."""
        self._ended.set()
        super().close()

    def _reword(self, message: str) -> bool:
        """Put a message without an event into our words; return False if there are none."""
        if message.startswith(INTERRUPTED):
            self.interrupted = True
            self.stopping()
            self._write("Stopping: removing half-written files.")
        elif message.startswith(ENDING):
            if not self._ending:
                self._write("Stopping after the running jobs; no other job starts.")
            self._ending = True
        elif message.startswith(NOTHING):
            self._write(f"Nothing to do: all requested files exist.{self.table()}")
        else:
            return message.startswith(NOISE)
        return True

    def _begin_job(self, jobid: int, rule_name: str, rule_msg: str | None, log: Collection[str] | None) -> bool:
        name = self._messages[jobid] = rule_msg or rule_name
        if self.overall:
            self.overall.begin(jobid, name, partial(logged_share, next(iter(log or ()), "")))
        if rule_msg and "rules" not in self.quiet:  # the rule all has no message, and does nothing
            self._line(name)
        return True

    def _end_job(self, jobid: int) -> bool:
        self._failed.pop(jobid, None)  # at another attempt it went well
        if self.overall:
            self.overall.end(jobid)
            if not self.overall.is_done and time.monotonic() - self._told >= AFTER_JOBS_SECONDS:
                self._report_share()
        return True

    def _fail_job(self, jobid: int, rule_name: str, log: Collection[str]) -> bool:
        name = self._messages.get(jobid, rule_name)
        error = next((text for path in log if (text := error_beside(path))), "")
        if self.overall:
            self.overall.fail(jobid)
        if any(map(is_verdict_beside, log)):
            self._judged = True
            return True
        self._failed[jobid] = name, error, next(iter(log), "")
        if error:
            self._line(f"failed: {name}")
        return bool(error) or self.interrupted

    def _handle_exception(self, exception: str, message: str) -> bool:
        """Put the exception that ends the run into our words; return False for another that no failed job explains."""
        if FAILED in message:
            if self._failed or self.interrupted or not self._judged:
                self._write(self._last_words())
            return True
        if exception == LOCKED and (other := self.living()):  # Snakemake would advise to unlock the folder under that run
            self._write(other)
            return True
        if exception == LOCKED:
            self._write(f"{Path.cwd()}: {KILLED}:\n    {unlocking(self.command)}")
            return True
        if dated := DATED.search(message):
            self._write(_of_the_future(*dated.groups()))
            return True
        if IN_A_PLAN.search(message):
            self.interrupted = True
            self._write(self._last_words())
            return True
        if wrong := OURS.search(message):
            self._write(wrong[1])
            return True
        for status in EXIT_STATUS.findall(message):
            if reason := NOT_STARTED.get(int(status)):
                self._not_started[reason] = None
        return self.interrupted or (exception in OF_FAILED_JOBS and "script" in message)

    def _last_words(self) -> str:
        """Return which jobs failed and why, and how to resume."""
        resume = f"The same command resumes:\n    {self.command}"
        if self.interrupted:
            return f"Interrupted; finished files stay. {resume}"
        lines, told = list[str](), set[str]()
        for name, error, log in self._failed.values():
            why = "for the same reason" if error in told else _short(error) or "; ".join(self._not_started) or SILENTLY
            lines.append(f"{name} failed: {why}\n    log: {log}")
            told |= {error} if error else set()
        return "\n".join(["", *lines, f"Once that is fixed, or if it was temporary: {resume[0].lower()}{resume[1:]}"])

    def _report_often(self) -> None:
        while not self._ended.wait(AFTER_JOBS_SECONDS):
            if time.monotonic() - self._told >= EVERY_SECONDS:
                # The lock of the handler, which main thread and reports share.
                with self.lock or threading.Lock():
                    self._report_share()

    def _report_share(self) -> None:
        self._told = time.monotonic()
        if self.overall and "progress" not in self.quiet:
            self._line(self.overall.line())

    def _line(self, words: str) -> None:
        self._write(f"{time.strftime('%H:%M:%S')}  {words}")

    def _write(self, words: str) -> None:
        stream = self.before.stream  # None if standard error was closed before Python started
        if stream and "all" not in self.quiet:
            try:
                stream.write(f"{words}\n")
                stream.flush()
            except BrokenPipeError:
                raise
            except OSError:  # e.g. a full disk of the file behind it, but not of the results
                self.before.handleError(logging.makeLogRecord({"msg": words}))


def _of_the_future(path: str, dated: str) -> str:
    """Return why an input that is dated later than what was made from it ends a run, and the command that dates it anew."""
    folder = Path(path).parent if Path(path).is_absolute() else Path.cwd() / Path(path).parts[0]
    touch = f'find {shlex.quote(str(folder))} -newermt now -exec touch -t "$(date +%Y%m%d%H%M.%S)" {{}} +'
    return (
        f"{path} is dated {dated}, later than the files that were just made from it, at {time.strftime('%F %T')}: a clock is or"
        " was wrong. These files are removed, since Snakemake would make them again and again. Correct the clock, then give all"
        f" files that are dated in the future the present time:\n    {touch}"
    )


def _short(error: str) -> str:
    """Return the first line of an error that its job has printed in full."""
    first, _, more = error.partition("\n")
    return f"{first} …" if more else first


def unlocking(command: str) -> str:
    """Return a command with ``--unlock``, before ``--``: behind that there are only targets."""
    words = shlex.split(command)
    words.insert(words.index("--") if "--" in words else len(words), "--unlock")
    return shlex.join(words)


def error_beside(log: str) -> str:
    """Return the error that a job wrote beside its log; empty if there is none."""
    with suppress(OSError, DataError):
        return str(read_json(job_error(log))["error"])
    return ""


def is_verdict_beside(log: str) -> bool:
    """Test whether that error is a verdict on results."""
    with suppress(OSError, DataError):
        return bool(read_json(job_error(log)).get("verdict"))
    return False


def take_over_terminal(terminal: Callable[[logging.StreamHandler[TextIO]], Terminal]) -> Terminal | None:
    """Replace Snakemake's handler for the terminal by that of ``terminal``; None if a logger plugin writes there."""
    from snakemake.logging import logger

    for handler in logger.handlers:
        if handler.name == HANDLER and isinstance(handler, logging.StreamHandler):
            replacing = terminal(handler)
            logger.removeHandler(handler)
            logger.addHandler(replacing)
            return replacing
    return None
