"""Adapter of the rule merge_chunks."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake, pandas=False) as this:
        from beirflow.runs.merge import merge_chunks

        merge_chunks(
            system=snakemake.wildcards.system,
            dataset=snakemake.wildcards.dataset,
            candidate_paths=list(snakemake.input.candidates),
            queries_path=snakemake.input.queries,
            documents_path=snakemake.input.documents,
            top_k=snakemake.params.top_k,
            run_path=snakemake.output.run,
            record_path=snakemake.output.record,
            job=this,
        )
