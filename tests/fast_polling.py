"""Snakemake that asks SLURM for the state of its jobs twice a second; by itself it waits ever longer while none has ended."""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda executor: 0.5, lambda executor, seconds: None)

if __name__ == "__main__":
    main()
