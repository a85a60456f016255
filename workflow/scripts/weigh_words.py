"""Adapter of the rule weigh_words."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.expansions.making import making_of
        from beirflow.expansions.weigh_words import weigh_words

        weigh_words(
            making=making_of(snakemake, "weights"),
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output.expansion,
            job=this,
        )
