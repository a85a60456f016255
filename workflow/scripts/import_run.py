"""Adapter of the rule import_run."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.imported.import_run import import_run

        import_run(
            **dict(snakemake.wildcards.items()),
            source_path=snakemake.input.source,
            queries_path=snakemake.input.queries,
            documents_path=snakemake.input.documents,
            **snakemake.params.retrieval,
            run_path=snakemake.output.run,
            record_path=snakemake.output.record,
            job=this,
        )
