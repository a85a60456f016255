"""Adapter of the rule fuse_runs."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.measures import measure
        from beirflow.fusion.fuse_runs import fuse_runs
        from beirflow.fusion.settings import FusionSettings

        fuse_runs(
            settings=FusionSettings(**snakemake.params.settings),
            dataset=snakemake.wildcards.dataset,
            run_paths=list(snakemake.input.runs),
            corpus_path=snakemake.input.corpus,
            **{key: snakemake.params[key] for key in ("tuned_on", "top_k")},
            **{f"{key}_path": path for key, path in snakemake.output.items()},
            measure=measure,
            job=this,
        )
