"""The log of one job: everything goes to its file, and what matters to the terminal as well."""

import gc
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from beirflow.errors import BeirflowError

logger = logging.getLogger("beirflow")

GARBAGE_OBJECTS = 200_000
"""New objects after which Python looks for garbage; its default is some hundred to some thousand."""


@contextmanager
def job_log(path: str) -> Iterator[None]:
    """Send the package's log to a file and to standard error while the block runs.

    A script's traceback does not reach the file that the rule names in ``log:`` unless the job writes it there itself, so
    exceptions end here: an error meant for people as its message alone, any other with its traceback.

    Args:
        path: The log file of the job; overwritten.

    Raises:
        SystemExit: With status 1, after an exception has been written to the log.
    """
    # What a job imports stays. Looking through it for garbage again and again, and at the end once more, takes a quarter of the
    # time of a short job.
    gc.set_threshold(GARBAGE_OBJECTS, 20, 100)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    to_file = logging.FileHandler(path, mode="w", encoding="utf-8")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    to_terminal = logging.StreamHandler(sys.stderr)
    to_terminal.setLevel(logging.WARNING)
    to_terminal.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").addHandler(to_file)
    logger.addHandler(to_file)
    logger.addHandler(to_terminal)
    try:
        yield
    except BeirflowError as error:
        logger.error("%s", error)
        sys.exit(1)
    except Exception:
        logger.exception("an error that beirflow did not foresee; please report it with this log, %s", path)
        sys.exit(1)
    finally:
        logger.removeHandler(to_file)
        logger.removeHandler(to_terminal)
        logging.getLogger("py.warnings").removeHandler(to_file)
        logging.captureWarnings(False)
        to_file.close()
        gc.freeze()
