"""Job of a rule, from the file that the rule's command names."""

from beirflow.run.entrance import run_entrance
from beirflow.run.interrupts import repeat_swallowed_interrupts
from beirflow.run.rule_job import read_job


def main(path: str, threads: str, log: str) -> None:
    """Run the job of a file."""
    repeat_swallowed_interrupts()
    run_entrance(read_job(path, int(threads), log))
