"""Progress of long work: a bar with rate and time left on a terminal, regular lines in the job's log."""

import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from tqdm import tqdm

logger = logging.getLogger(__name__)

LOG_EVERY_SECONDS = 10.0

DONE_OF_TOTAL = re.compile(rb": ([\d,]+) of ([\d,]+) ")  # in a line of :class:`Progress`
TAIL_BYTES = 4096  # of a log, in which its last line of progress is looked for

_jobs: list[str | None] = []  # name of the job that this process runs, if any; None while nothing is shown


@contextmanager
def named_job(name: str | None) -> Iterator[None]:
    """Put the name of a job, its rule with its wildcards, into every title while the block runs."""
    _jobs.append(name)
    try:
        yield
    finally:
        _jobs.pop()


def silence() -> AbstractContextManager[None]:
    """Show and log no progress in the block: for short work that is measured repeatedly."""
    return named_job(None)


class Progress:
    """Counter of units of work towards a total, which may be unknown.

    The title names the work, e.g. ``"encode nfcorpus, chunk 0"``, and the units what is counted, e.g. ``"documents"`` or ``"B"``;
    ``second_unit`` is something else that the same work counts, e.g. ``"tokens"``, whose rate is shown too.
    """

    def __init__(self, title: str, total: int | None, unit: str, second_unit: str | None = None) -> None:
        # A title that has the name of the job already is not repeated.
        title = next((f"{job}: {title}" for job in _jobs[-1:] if job and job not in title), title)
        self.title, self.total, self.unit, self.second_unit = title, total, unit, second_unit
        self.done = self.second_done = 0
        self._start = self._logged = time.monotonic()
        self._shown = None not in _jobs
        self._bar = tqdm(
            total=total,
            desc=title,
            unit=f" {unit}",
            unit_scale=True,
            file=sys.stderr,
            disable=not (self._shown and sys.stderr and sys.stderr.isatty()),  # None if it was closed before Python started
        )

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        if self._shown:
            logger.info("%s", self.line())

    def advance(self, count: int, second_count: int = 0) -> None:
        """Count finished work, and report it when the last report is old enough."""
        self.done += count
        self.second_done += second_count
        self._bar.update(count)
        now = time.monotonic()
        if self.second_unit:
            rate = self.second_done / max(now - self._start, 1e-9)
            self._bar.set_postfix_str(f"{rate:,.0f} {self.second_unit}/s", refresh=False)
        if self._shown and now - self._logged >= LOG_EVERY_SECONDS:
            self._logged = now
            logger.info("%s", self.line())

    def line(self) -> str:
        """Return the state in words: done of total, rates per second, time left."""
        # The clock may not see short work.
        seconds = max(time.monotonic() - self._start, 1e-9)
        parts = [f"{self.title}: {self.done:,}" + (f" of {self.total:,}" if self.total is not None else "") + f" {self.unit}"]
        parts.append(f"{self.done / seconds:,.0f}/s")
        if self.second_unit:
            parts.append(f"{self.second_done / seconds:,.0f} {self.second_unit}/s")
        if self.total and 0 < self.done < self.total:
            parts.append(f"{tqdm.format_interval(seconds * (self.total - self.done) / self.done)} left")
        else:
            parts.append(f"{seconds:.1f} s")
        return ", ".join(parts)


def logged_share(log: str) -> float | None:
    """Return the share, 0 to 1, of the last work, perhaps one of several, that the log of a job reports; None if none does."""
    with suppress(OSError), Path(log).open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - TAIL_BYTES))
        if counts := DONE_OF_TOTAL.findall(stream.read()):
            done, total = (int(count.replace(b",", b"")) for count in counts[-1])
            return min(1.0, done / total) if total else None
    return None
