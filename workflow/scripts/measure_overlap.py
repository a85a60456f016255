"""Adapter of the rule measure_overlap."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.overlap import measure_overlap

        measure_overlap(
            words_paths=list(snakemake.input.words),
            statistics_paths=list(snakemake.input.statistics),
            rows=snakemake.params.rows,
            overlap_path=snakemake.output[0],
        )
