"""The log of one job: everything goes to its file, and what matters to the terminal as well."""

import gc
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from beirflow.files.disks import disk_problem
from beirflow.files.errors import BeirflowError
from beirflow.jobs.lifetime import end_with_snakemake

logger = logging.getLogger("beirflow")

GARBAGE_OBJECTS = 200_000
"""New objects after which Python looks for garbage; its default is some hundred to some thousand."""

INTERRUPTED = 128 + signal.SIGINT
"""Exit status, as shells have it."""


@contextmanager
def job_log(path: str) -> Iterator[None]:
    """Send the package's log to a file and to standard error while the block runs.

    A script's traceback does not reach the file that the rule names in ``log:`` unless the job writes it there itself, so
    exceptions end here: an error meant for people, or of a disk, as its message alone, any other with its traceback. SIGTERM
    stops the block as Ctrl-C does, so that what it had begun to write is removed.

    Args:
        path: The log file of the job; overwritten.

    Raises:
        SystemExit: With status 1, after an exception has been written to the log; with 130 after a signal.
    """
    end_with_snakemake()
    # What a job imports stays. Looking through it for garbage again and again, and at the end once more, takes a quarter of the
    # time of a short job.
    gc.set_threshold(GARBAGE_OBJECTS, 20, 100)
    on_sigterm = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as handlers:
        handlers.enter_context(_log_to(_terminal()))
        try:
            handlers.enter_context(_log_to(_LogFile(path)))
            yield
        except BeirflowError as error:
            logger.error("%s", error)
            sys.exit(1)
        except KeyboardInterrupt:
            logger.info("stopped by a signal before it was done")
            sys.exit(INTERRUPTED)
        except Exception as error:
            problem = disk_problem(error) if isinstance(error, OSError) else None
            if problem:
                logger.error("%s", problem)
            else:
                logger.exception("an error that beirflow did not foresee; please report it with this log, %s", path)
            sys.exit(1)
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)
            gc.freeze()


class _LogFile(logging.FileHandler):
    """The log file, which also gets the warnings of libraries. A full disk makes it shorter and nothing else fail."""

    def __init__(self, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, mode="w", encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(self)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Nothing: the terminal has what matters."""

    def close(self) -> None:
        """End the file, whether or not there is room for its end, and catch warnings no longer."""
        logging.getLogger("py.warnings").removeHandler(self)
        logging.captureWarnings(False)
        with suppress(OSError):
            super().close()


def _terminal() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
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
