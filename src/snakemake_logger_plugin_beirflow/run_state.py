"""Interface of a workflow to its logger: the progress and the facts of a run."""

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Progress(Protocol):
    """The progress of a run, counted by its workflow."""

    def beginning(self) -> str:
        """Return how much there is to do."""

    def begin(self, job: int, name: str, share: Callable[[], float | None]) -> None:
        """Begin a job, of which ``share`` returns the share that it reports as done."""

    def end(self, job: int) -> None:
        """End a job that succeeded."""

    def fail(self, job: int) -> None:
        """End a job that did not succeed."""

    @property
    def is_done(self) -> bool:
        """Test whether all jobs have ended well."""

    def line(self) -> str:
        """Return the state in words."""


class Workflow(NamedTuple):
    """Knowledge of a workflow of its run that Snakemake lacks."""

    command: str  # of the run
    nothing: Callable[[], str]  # returns what to print where nothing was to do, or ends the run because of it
    meant: Callable[[str], str]  # returns the probable meaning of a target that no rule makes, for the end of a sentence
    living: Callable[[], str | None]  # returns what to do about another run that has the results; None without one
    error: Callable[[str], tuple[str, bool]]  # the error that a job wrote next to this log, and whether it is a verdict
    share: Callable[[str], float | None]  # the share of its work that a job reports in this log
