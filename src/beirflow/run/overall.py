"""The progress of a run, counted in work and not in jobs: a chunk of a million documents outweighs one average.

The share is of the work as it was expected at the start, so that it goes back only when a job fails. The time left follows what
jobs take.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

SHOWN = 3  # most jobs that a line names
LEAST, MOST = 0.05, 0.95  # share of a job that takes longer than expected: neither new nor done
DOUBT = 0.01  # share of the work from which measured times predict those of other jobs
START = 0.5  # fixed start-up time of a job that is forked, in seconds


@dataclass(frozen=True)
class Expected:
    """Expected work of a job."""

    rule: str  # its rule
    # expected duration, ``START`` included; during a run, the measured times of its rule correct it, and of a rule that has not
    # run yet, those of the others: a machine that is slow with one is slow with all
    seconds: float
    documents: float = 0.0  # documents that it encodes or indexes, 0 for another job
    evaluates: bool = False  # whether it ends in the scores of a system on a corpus


class Overall:
    """Counter of the work of a run, of which ``expected`` has each job by number."""

    def __init__(self, expected: Mapping[int, Expected], clock: Callable[[], float] = time.monotonic) -> None:
        self.expected = dict(expected)
        self._clock, self._start = clock, clock()
        self._running: dict[int, tuple[str, float]] = {}
        self._shares: dict[int, Callable[[], float | None]] = {}
        self._reached: dict[int, float] = {}  # largest share that a running job reported: a job may begin to count anew
        self._done: set[int] = set()
        self._took: Counter[str] = Counter()
        self._thought: Counter[str] = Counter()
        self._busy = 0.0

    def beginning(self) -> str:
        """Return the amount of work in words."""
        jobs = len(self.expected)
        return f"{'1 job' if jobs == 1 else f'{jobs:,} jobs'} to do"

    def begin(self, job: int, name: str, share: Callable[[], float | None] = lambda: None) -> None:
        """Begin a job; ``name`` is what a person calls it, ``share`` returns the share that it reports as done, None for none."""
        self._running[job], self._shares[job], self._reached[job] = (name, self._clock()), share, 0.0

    def end(self, job: int) -> None:
        """End a job that succeeded."""
        _, since = self._running.pop(job, ("", self._clock()))
        took = self._clock() - since
        self._busy += took
        if job in self.expected and job not in self._done:
            self._done.add(job)
            self._took[self.expected[job].rule] += took  # type: ignore[assignment]
            self._thought[self.expected[job].rule] += self.expected[job].seconds  # type: ignore[assignment]

    def fail(self, job: int) -> None:
        """End a job that did not succeed."""
        self._running.pop(job, None)

    @property
    def is_done(self) -> bool:
        """Test whether all jobs have ended well."""
        return self._done >= self.expected.keys()

    def line(self) -> str:
        """Return the state in words: share, documents with their rate, evaluations, time left, running jobs."""
        now = self._clock()
        elapsed = max(now - self._start, 1e-9)
        parts = [f"{self._share(now):.0%} of the work"]
        if documents := sum(each.documents for each in self.expected.values()):
            finished = sum(self.expected[job].documents for job in self._done)
            rate = finished / elapsed
            speed = f" ({rate:,.0f}/s)" if rate >= 10 else f" ({60 * rate:,.0f}/min)" if finished else ""
            parts.append(f"{finished:,.0f} of {documents:,.0f} documents encoded or indexed{speed}")
        if evaluations := sum(each.evaluates for each in self.expected.values()):
            parts.append(f"{sum(self.expected[job].evaluates for job in self._done)} of {evaluations} evaluations")
        if self._done and self._work_left(now) >= 1:
            parts.append(f"about {duration(self.seconds_left())} left")
        names = [name for name, _ in self._running.values()]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return ", ".join(parts) + (f"; runs: {'; '.join(names[:SHOWN])}{more}" if names else "")

    def seconds_left(self) -> float:
        """Return the time until all jobs have ended, if as many run at once as until now."""
        now = self._clock()
        busy = self._busy + sum(now - since for _, since in self._running.values())
        return self._work_left(now) / max(1.0, busy / max(now - self._start, 1e-9))

    def _share(self, now: float) -> float:
        for job in self._running.keys() & self.expected.keys():
            self._reached[job] = max(self._reached[job], self._state(job, now)[0])
        total = sum(each.seconds for each in self.expected.values())
        parts = {job: self._reached[job] for job in self._running} | dict.fromkeys(self._done, 1.0)
        done = sum(part * self.expected[job].seconds for job, part in parts.items() if job in self.expected)
        return done / total if total else 1.0

    def _work_left(self, now: float) -> float:
        """Return the seconds of the work that is left, were one job to run after another."""
        waiting = self.expected.keys() - self._done - self._running.keys()
        states = [self._state(job, now) for job in self._running.keys() & self.expected.keys()]
        return sum(map(self._seconds, waiting)) + sum((1 - part) * seconds for part, seconds in states)

    def _state(self, job: int, now: float) -> tuple[float, float]:
        """Return the share of a running job that is done, and the seconds that all of it takes."""
        took, seconds = now - self._running[job][1], max(self._seconds(job), 1e-9)
        if took > MOST * seconds:  # what the job itself reports is better than what was expected of it
            share = self._shares[job]()
            seconds = took / (MOST if share is None else min(max(share, LEAST), MOST))
        return took / seconds, seconds

    def _seconds(self, job: int) -> float:
        """Return the seconds of a job, corrected by the jobs that have ended."""
        each = self.expected[job]
        if thought := self._thought[each.rule]:
            return each.seconds * self._took[each.rule] / thought
        # Jobs of seconds do not predict jobs of hours.
        doubt = DOUBT * sum(other.seconds for other in self.expected.values())
        paces = [(self._took[rule] + doubt) / (thought + doubt) for rule, thought in self._thought.items()]
        # The median, since the expected time of a single rule may be wrong.
        return each.seconds * median(paces or [1.0])


def duration(seconds: float) -> str:
    """Return a time in the unit that a person uses for it: seconds, minutes, hours or days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.1f} days"
