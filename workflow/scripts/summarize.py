"""Adapter of the rule summarize."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.evaluation.summary import summarize
        from beirflow.experiment.experiment import load_experiment
        from beirflow.experiment.manifest import write_manifest

        paths = {"means_paths": list(snakemake.input.means), "summary_path": snakemake.output.summary}
        table = summarize(**paths)
        write_manifest(
            **paths,
            published_path=snakemake.input.published,
            experiment=load_experiment(snakemake.config),
            code=snakemake.params.code,
            manifest_path=snakemake.output.manifest,
        )
        print(f"\n{table}\n\nThe same in full precision: {snakemake.output.summary}\n")
