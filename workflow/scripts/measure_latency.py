"""Adapter of the rule measure_latency."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.latency import measure_latency

        measure_latency(
            **{key: snakemake.wildcards[key] for key in ("system", "dataset")},
            **{key: snakemake.params[key] for key in ("systems", "top_k", "precision")},
            **{key: snakemake.config[key] for key in ("device", "token_budget", "jobs_per_gpu")},
            threads=snakemake.threads,
            output_path=snakemake.output[0],
            job=this,
        )
