"""Adapter of the rule evaluate_run."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.evaluate import evaluate_run

        evaluate_run(
            system=snakemake.wildcards.system,
            dataset=snakemake.wildcards.dataset,
            run_path=snakemake.input.run,
            run_record_path=snakemake.input.run_record,
            qrels_path=snakemake.input.qrels,
            corpus_path=snakemake.input.corpus,
            cutoffs=snakemake.params.cutoffs,
            per_query_path=snakemake.output.per_query,
            means_path=snakemake.output.means,
            job=this,
        )
