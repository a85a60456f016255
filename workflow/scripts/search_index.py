"""Adapter of the rule search_index."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.lexical.settings import LexicalSettings
        from beirflow.lexical.steps import search_index

        search_index(
            settings=LexicalSettings(**snakemake.params.settings),
            **{f"{name}_path": snakemake.input[name] for name in ("queries", "documents")},
            chunk=int(snakemake.wildcards.chunk),
            postings_path=snakemake.input.postings,
            statistics_path=snakemake.input.statistics,
            output_path=snakemake.output[0],
            **snakemake.params.retrieval,
            threads=snakemake.threads,
            job=this,
        )
