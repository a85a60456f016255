"""Adapter of the rule draw_paper."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.figures import draw_figures

        draw_figures(folder=snakemake.output[0].rpartition("/")[0], style=snakemake.params.style)
