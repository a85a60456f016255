"""Adapter of the rule open_run."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.exchange.open_run import write_open_run

        write_open_run(
            run_path=snakemake.input.run,
            record_path=snakemake.input.record,
            queries_path=snakemake.input.queries,
            corpus_path=snakemake.input.corpus,
            manifest_path=snakemake.input.manifest,
            output_path=snakemake.output[0],
        )
