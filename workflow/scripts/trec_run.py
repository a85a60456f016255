"""Adapter of the rule trec_run."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.runs.run_file import write_trec

        write_trec(
            run_path=snakemake.input.run,
            record_path=snakemake.input.record,
            queries_path=snakemake.input.queries,
            output_path=snakemake.output[0],
            tag=snakemake.wildcards.system,
        )
