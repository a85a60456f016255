"""Adapter of the rule estimate."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.estimate import estimate
        from beirflow.experiment.load import load_experiment

        text = estimate(
            experiment=load_experiment(snakemake.config), results=this.results, configured=snakemake.params.configured
        )
        print(f"\n{text}\n")
