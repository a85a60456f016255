"""Adapter of the rule export_mteb."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.report.mteb import export_mteb

        export_mteb(
            task=snakemake.wildcards.task,
            language=snakemake.params.language,
            means_path=snakemake.input.means,
            corpus_paths=list(snakemake.input.corpora),
            result_path=snakemake.output[0],
        )
