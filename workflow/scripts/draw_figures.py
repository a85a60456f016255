"""Adapter of the rule draw_figures."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.report.figures import draw_figures

        draw_figures(
            means_paths=list(snakemake.input.means),
            corpus_means_paths=list(snakemake.input.corpus_means),
            per_query_paths=list(snakemake.input.per_query),
            inspection_paths=list(snakemake.input.inspections),
            comparison_path=snakemake.input.comparison,
            costs_path=snakemake.input.costs,
            rows=snakemake.params.rows,
            baseline=snakemake.params.baseline,
            style=snakemake.params.style,
            folder=snakemake.output[0].rpartition("/")[0],
        )
