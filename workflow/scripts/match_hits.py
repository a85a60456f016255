"""Adapter of the rule match_hits."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.analysis.matches import match_hits
        from beirflow.experiment.families import FAMILIES

        known = snakemake.params.system
        match_hits(
            **{key: snakemake.wildcards[key] for key in ("system", "dataset")},
            **{f"{key}_path": snakemake.input[key] for key in ("inspection", "queries", "documents", "model")},
            output_path=snakemake.output[0],
            settings=FAMILIES[known["family"]].settings(**known["settings"]),
            **{key: snakemake.params[key] for key in ("finder", "precision")},
            threads=snakemake.threads,
            **{key: snakemake.config[key] for key in ("device", "token_budget", "jobs_per_gpu")},
            job=this,
        )
