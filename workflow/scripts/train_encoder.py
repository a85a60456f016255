"""Adapter of the rule train_encoder."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.training.train_encoder import train_encoder, training_of

        train_encoder(
            **training_of(snakemake),
            documents_path=snakemake.input.documents,
            query_paths=snakemake.input.queries,
            output_path=snakemake.output.model,
            record_path=snakemake.output.record,
            job=this,
        )
