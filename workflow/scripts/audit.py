"""Adapter of the rule audit."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from pathlib import Path

        from beirflow.audit.audit import audit
        from beirflow.experiment.experiment import load_experiment

        folder = str(Path(snakemake.log[0]).parents[1])
        print(audit(folder=folder, experiment=load_experiment(snakemake.config), sample=snakemake.params.sample))
