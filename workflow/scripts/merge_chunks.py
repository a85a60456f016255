"""Adapter of the rule merge_chunks."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.dense.merge import merge_chunks

        merge_chunks(
            system=snakemake.wildcards.system,
            candidate_paths=list(snakemake.input.candidates),
            query_record_path=snakemake.input.query_record,
            chunk_record_paths=list(snakemake.input.chunk_records),
            queries_path=snakemake.input.queries,
            documents_path=snakemake.input.documents,
            model_path=snakemake.input.model,
            run_path=snakemake.output.run,
            record_path=snakemake.output.record,
            **dict(snakemake.params.items()),
        )
