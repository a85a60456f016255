"""Adapter of the rule measure_bias."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.paper.bias import measure_bias

        measure_bias(
            means_paths=list(snakemake.input.means),
            run_paths=list(snakemake.input.runs),
            qrels_paths=dict(zip(snakemake.params.corpora, snakemake.input.qrels, strict=True)),
            rows=snakemake.params.rows,
            bias_path=snakemake.output[0],
            extra_paths=snakemake.params.extra,
            job=this,
        )
