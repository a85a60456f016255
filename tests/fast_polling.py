"""Snakemake that asks SLURM for the state of its jobs twice a second; by itself it waits ever longer while none has ended."""

from snakemake.cli import main

from snakemake_executor_plugin_beirflow_slurm import states

states.NOTES_SECONDS = states.LONGEST_PAUSE_SECONDS = 0.5

if __name__ == "__main__":
    main()
