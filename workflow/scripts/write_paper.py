"""Adapter of the rule write_paper."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.paper.page import write_paper

        write_paper(
            folder=snakemake.output.page.rpartition("/")[0],
            other_paths=[*snakemake.input.words, *snakemake.input.statistics, *snakemake.input.latencies],
            manifest_path=snakemake.input.manifest,
            page_path=snakemake.output.page,
            record_path=snakemake.output.record,
            job=this,
        )
