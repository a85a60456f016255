"""A job: its log, its signals, its lifetime, its benchmark, and its part of the records."""

import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from beirflow.core.addresses import without_secrets
from beirflow.core.disks import disk_problem
from beirflow.core.errors import BeirflowError, VerdictError
from beirflow.core.extensions import extensions
from beirflow.core.layout import BENCHMARK, job_error
from beirflow.core.memory import keep_freed_memory
from beirflow.core.progress import named_job
from beirflow.core.records import Job, read_json, write_json
from beirflow.core.writing import atomic_path
from beirflow.run.interrupts import end_with_snakemake, signals_stop_once
from beirflow.run.results_lock import hold_job

logger = logging.getLogger("beirflow")

GARBAGE_OBJECTS = 200_000  # new objects after which Python looks for garbage; its default is some hundred to some thousand
INTERRUPTED = 128 + signal.SIGINT  # exit status, as shells have it

KIBIBYTES = 1024 if sys.platform == "linux" else 1024**2  # units of the kernel's peak in a mebibyte

PROBE_BYTES = 4096  # of a file that a full disk refuses

LOAD = "load_per_core"  # column of a benchmark with the load average of the last minute per core


@contextmanager
def job(snakemake: Any) -> Iterator[Job]:
    """Run the block as the job of a rule; yield the fields of its records.

    The log of a rule is ``<results>/logs/<rule>/<wildcards>.log``, with a part for each wildcard. Raises SystemExit as
    :func:`surroundings`.
    """
    keep_freed_memory()  # a model on a CPU takes and frees some MB for each of its layers
    log = Path(snakemake.log[0])
    logs, results = log.parents[len(snakemake.wildcards) :][:2]
    results = Path(snakemake.params.get("results", results))  # the log of read-only results is elsewhere
    name = log.relative_to(logs).with_suffix("").as_posix()

    def alone() -> None:
        """Lock the outputs of this job; exit successfully if another instance, for which it waited, made them."""
        if hold_job(logs, name) and snakemake.output and all(Path(path).exists() for path in snakemake.output):
            logger.warning("%s: another instance of this job, for which it waited, has made everything", name)
            sys.exit(0)

    with named_job(name), surroundings(log, alone), ExitStack() as observers:
        if snakemake.output:  # a job without one looks at the results and writes nothing there
            observers.enter_context(measured(results / BENCHMARK(job=name)))
            for observer in filter(None, (extension.observer for extension in extensions())):
                observers.enter_context(observer.around(results, name))
        yield Job(results, name, snakemake.params.get("code", ""))


@contextmanager
def surroundings(log_path: str | Path, before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Send the package's log to a file and to standard error, and end in an orderly way, while the block runs.

    A traceback does not reach the file that the rule names in ``log:`` unless the job writes it there itself, so
    exceptions end here: an error meant for people, or of a disk, as its message alone, any other with its traceback. SIGTERM
    stops the block as Ctrl-C does, so that what it had begun to write is removed. The exit status is 1 after an exception, 130
    after a signal.

    ``before`` is called first, while the log is still that of an earlier or another instance of the job.
    """
    end_with_snakemake()
    # Imports stay, and looking through them repeatedly for garbage takes a quarter of a short job.
    gc.set_threshold(GARBAGE_OBJECTS, 20, 100)
    with ExitStack() as around:
        around.callback(gc.freeze)  # the process ends soon, and its last collection need not look through all objects
        around.enter_context(signals_stop_once())
        around.enter_context(_log_to(_terminal()))
        around.enter_context(_errors_in_words(log_path))  # of a log that cannot be opened
        before()
        with _log_to(_LogFile(log_path)), _errors_in_words(log_path):
            yield


@contextmanager
def measured(path: Path) -> Iterator[None]:
    """Measure this process while the block runs, and write ``benchmarks/<job>.tsv`` once the block has done its work.

    The columns are those of Snakemake's ``benchmark:``, which would measure the client of the job, and :data:`LOAD`.
    ``max_rss`` (MiB) is the peak of this process, or of a child that ended if it took more; ``mean_load`` is in percent of a
    core. An earlier file is removed first. A disk that refuses the file costs the benchmark and nothing else.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)
    begin, begin_seconds = time.monotonic(), own_seconds()
    yield
    seconds, processor_seconds = time.monotonic() - begin, own_seconds() - begin_seconds
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    row = {
        "s": f"{seconds:.4f}",
        "h:m:s": str(timedelta(seconds=int(seconds))),
        "max_rss": f"{peak / KIBIBYTES:.2f}",
        **dict.fromkeys(("max_vms", "max_uss", "max_pss", "io_in", "io_out"), "NA"),
        "mean_load": f"{100 * processor_seconds / seconds:.2f}",
        "cpu_time": f"{processor_seconds:.2f}",
        LOAD: f"{os.getloadavg()[0] / (os.cpu_count() or 1):.6g}",
    }
    with suppress(OSError), atomic_path(path) as partial:
        partial.write_text("\t".join(row) + "\n" + "\t".join(row.values()) + "\n", encoding="utf-8")


def own_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


@contextmanager
def _errors_in_words(log_path: str | Path) -> Iterator[None]:
    """Log an exception, write it next to the log for the terminal of the run, and exit.

    A verdict is printed as the text of a job that ended well.
    """
    facts: dict[str, Any] = {}
    try:
        yield
    except VerdictError as error:
        message, facts = str(error), {"verdict": True}
        logger.info("%s", message)
        with suppress(BrokenPipeError):
            sys.stdout.write(f"{without_secrets(message)}\n")
            sys.stdout.flush()
    except BeirflowError as error:
        message = str(error)
        logger.error("%s", message)
    except KeyboardInterrupt:
        logger.info("stopped by a signal before it was done")
        sys.exit(INTERRUPTED)
    except Exception as error:
        problem = disk_problem(error) if isinstance(error, OSError) else None
        message = problem or f"an unexpected error; please report it with this log, {log_path}"
        logger.error("%s", message, exc_info=problem is None)
    else:
        return
    with suppress(OSError, BeirflowError):
        write_json(job_error(log_path), {"error": without_secrets(message), **facts})
    sys.exit(1)


def logged_error(log: str) -> tuple[str, bool]:
    """Return the error that a job wrote next to its log, empty if there is none, and whether it is a verdict on results.

    Where there is none, the disk may have refused it, which it then refuses here too.
    """
    path = job_error(log)
    with suppress(OSError, BeirflowError, KeyError):
        found = read_json(path)
        return str(found["error"]), bool(found.get("verdict"))
    try:
        if path.parent.is_dir():
            path.write_bytes(bytes(PROBE_BYTES))
            path.unlink()
    except OSError as error:
        return disk_problem(error) or "", False
    return "", False


class _Formatter(logging.Formatter):
    """Lines of a log, with tracebacks, without any secret, also of libraries."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record without secrets."""
        return without_secrets(super().format(record))


class _LogFile(logging.FileHandler):
    """The log file, which also gets the warnings of libraries. A full disk shortens the log, but does not fail the job."""

    def __init__(self, path: str | Path) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        job_error(path).unlink(missing_ok=True)
        super().__init__(path, mode="w", encoding="utf-8")
        self.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(self)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Do nothing: the terminal has what matters."""

    def close(self) -> None:
        """End the file, whether or not there is room for its end, and catch warnings no longer."""
        logging.getLogger("py.warnings").removeHandler(self)
        logging.captureWarnings(False)
        with suppress(OSError):
            super().close()


def _terminal() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Formatter("%(levelname)s: %(message)s"))
    return handler


@contextmanager
def _log_to(handler: logging.Handler) -> Iterator[None]:
    """Send the package's log to a handler while the block runs."""
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
