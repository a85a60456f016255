"""Adapter of the rule rerank_run."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.rerank.rerank_run import rerank_run
        from beirflow.rerank.settings import RerankSettings

        rerank_run(
            settings=RerankSettings(**snakemake.params.settings),
            dataset=snakemake.wildcards.dataset,
            first_run_path=snakemake.input.first[0],
            pairs_paths=list(snakemake.input.pairs),
            corpus_path=snakemake.input.corpus,
            top_k=snakemake.params.top_k,
            run_path=snakemake.output.run,
            record_path=snakemake.output.record,
            job=this,
        )
