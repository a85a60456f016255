"""Adapter of the rule fuse_runs."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.fusion.fuse_runs import fuse_runs
        from beirflow.fusion.settings import FusionSettings

        fuse_runs(
            settings=FusionSettings(**snakemake.params.settings),
            dataset=snakemake.wildcards.dataset,
            run_paths=list(snakemake.input.runs),
            corpus_path=snakemake.input.corpus,
            top_k=snakemake.params.top_k,
            run_path=snakemake.output.run,
            record_path=snakemake.output.record,
            job=this,
        )
