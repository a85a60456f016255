"""Adapter of the rule search_index."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake, pandas=False) as this:
        from beirflow.lexical.search_index import search_index
        from beirflow.lexical.settings import LexicalSettings

        search_index(
            settings=LexicalSettings(**snakemake.params.settings),
            **{f"{name}_path": snakemake.input[name] for name in ("queries", "documents", "postings", "statistics")},
            chunk=int(snakemake.wildcards.chunk),
            expansion_path=next(iter(snakemake.input.expansion), None),
            output_path=snakemake.output[0],
            **snakemake.params.retrieval,
            threads=snakemake.threads,
            job=this,
        )
