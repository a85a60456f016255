"""Adapter of the rule audit."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.audit.audit import audit
        from beirflow.experiment.experiment import load_experiment

        print(audit(folder=str(this.results), experiment=load_experiment(snakemake.config), sample=snakemake.params.sample))
