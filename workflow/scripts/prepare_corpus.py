"""Adapter of the rule prepare_corpus."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.datasets.prepare import prepare_corpus

        prepare_corpus(
            source_path=snakemake.params.folder or snakemake.input[0],
            **snakemake.params.settings,
            documents_path=snakemake.output.documents,
            queries_path=snakemake.output.queries,
            qrels_path=snakemake.output.qrels,
            corpus_path=snakemake.output.corpus,
            threads=snakemake.threads,
            job=this,
        )
