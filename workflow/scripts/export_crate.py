"""Adapter of the rule export_crate."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.exchange.crate import export_crate

        export_crate(
            manifest_path=snakemake.input.manifest,
            page_paths=snakemake.input.get("pages", []),
            crate_path=snakemake.output.crate,
            code_folder=snakemake.output.code,
            readme_path=snakemake.output.readme,
        )
