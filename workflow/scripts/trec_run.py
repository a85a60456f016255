"""Adapter of the rule trec_run."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.runs.run_file import write_trec

        write_trec(
            run_path=snakemake.input.run,
            record_path=snakemake.input.record,
            output_path=snakemake.output[0],
            tag=snakemake.wildcards.system,
        )
