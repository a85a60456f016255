"""Adapter of the rule inspect_dataset."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.analysis.inspection import inspect_dataset

        inspect_dataset(
            dataset=snakemake.wildcards.dataset,
            documents_path=snakemake.input.documents,
            queries_path=snakemake.input.queries,
            qrels_path=snakemake.input.qrels,
            corpus_path=snakemake.input.corpus,
            run_paths=list(snakemake.input.runs),
            means_paths=list(snakemake.input.means),
            per_query_paths=list(snakemake.input.per_query),
            output_path=snakemake.output[0],
            job=this,
        )
