"""Adapter of the rule summarize."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.summary import summarize
        from beirflow.experiment.load import load_experiment
        from beirflow.experiment.manifest import write_manifest

        paths = {"means_paths": list(snakemake.input.means), "summary_path": snakemake.output.summary}
        table = summarize(**paths)
        published, manifest = snakemake.input.published, snakemake.output.manifest
        experiment = load_experiment(snakemake.config)
        write_manifest(**paths, published_path=published, experiment=experiment, manifest_path=manifest, job=this)
        print(f"\n{table}\n\nThe same in full precision: {snakemake.output.summary}\n")
