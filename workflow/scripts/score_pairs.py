"""Adapter of the rule score_pairs."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.rerank.score_pairs import score_pairs, scoring_of

        score_pairs(
            scoring=scoring_of(snakemake),
            first_run_path=snakemake.input.first[0],
            **{f"{name}_path": snakemake.input[name] for name in ("queries", "documents", "corpus")},
            block=int(snakemake.wildcards.block),
            blocks=snakemake.params.blocks,
            output_path=snakemake.output.pairs,
            job=this,
        )
