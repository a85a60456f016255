"""Job of a rule, from the file that the rule's command names."""

from contextlib import suppress

from beirflow.run.entrance import run_entrance
from beirflow.run.interrupts import repeat_swallowed_interrupts
from beirflow.run.rule_job import read_job

# Arrow would import it in the middle of a job, and take a signal to stop that comes meanwhile for an import that failed.
with suppress(ImportError):  # not in the environment of every rule
    import pandas  # noqa: F401


def main(path: str, threads: str, log: str) -> None:
    """Run the job of a file."""
    repeat_swallowed_interrupts()
    run_entrance(read_job(path, int(threads), log))
