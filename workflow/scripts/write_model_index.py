"""Adapter of the rule write_model_index."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.report.mteb import write_model_index

        write_model_index(
            system=snakemake.wildcards.system,
            result_paths=list(snakemake.input),
            datasets=snakemake.params.datasets,
            left_out=snakemake.params.left_out,
            index_path=snakemake.output[0],
        )
