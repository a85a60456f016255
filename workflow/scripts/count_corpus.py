"""Adapter of the rule count_corpus."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.paper.statistics import count_corpus

        count_corpus(
            dataset=snakemake.wildcards.dataset,
            documents_path=snakemake.input.documents,
            queries_path=snakemake.input.queries,
            qrels_path=snakemake.input.qrels,
            corpus_path=snakemake.input.corpus,
            words_path=snakemake.output.words,
            statistics_path=snakemake.output.statistics,
            job=this,
        )
