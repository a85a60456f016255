"""Run the job of any rule: call the entrance that the rule names in its params."""

from beirflow.run.entrance import run_entrance
from beirflow.run.interrupts import repeat_swallowed_interrupts

if __name__ == "__main__":
    repeat_swallowed_interrupts()
    run_entrance(snakemake)
