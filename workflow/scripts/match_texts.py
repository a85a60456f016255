"""Adapter of the rule match_texts."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.datasets.matching import match_texts

        match_texts(
            documents_path=snakemake.input.documents,
            other_path=snakemake.input.other[0],
            output_path=snakemake.output[0],
        )
