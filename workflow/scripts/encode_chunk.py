"""Adapter of the rule encode_chunk."""

from beirflow.job_log import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.encode import encode_chunk

        encode_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            corpus_path=snakemake.input.corpus,
            model_path=snakemake.input.model,
            output_path=snakemake.output.vectors,
            system=snakemake.params.system,
            precision=snakemake.params.precision,
            device=snakemake.config["device"],
            token_budget=snakemake.config["token_budget"],
            threads=snakemake.threads,
        )
