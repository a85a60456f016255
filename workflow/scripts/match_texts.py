"""Adapter of the rule match_texts."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.datasets.matching import match_texts

        match_texts(
            documents_path=snakemake.input.documents,
            other_path=snakemake.input.other[0],
            output_path=snakemake.output[0],
        )
