"""Adapter of the rule encode_chunk."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.dense.encode import encode_chunk

        encode_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            corpus_path=snakemake.input.corpus,
            model_path=snakemake.input.model,
            shared_paths=[*snakemake.input.shared, *snakemake.input.shared_vectors],
            output_path=snakemake.output.vectors,
            **snakemake.params.settings | {"code": snakemake.params.code},
            **{key: snakemake.config[key] for key in ("device", "token_budget", "jobs_per_gpu")},
            threads=snakemake.threads,
        )
