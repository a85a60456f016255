"""Run the job of any rule: call the entrance that the rule names in its params."""

from beirflow.jobs.entrance import run_entrance

if __name__ == "__main__":
    run_entrance(snakemake)
