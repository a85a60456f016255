"""Adapter of the rule collect_costs."""

from pathlib import Path

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.evaluation.cost import collect_costs

        collect_costs(
            means_paths=list(snakemake.input.means),
            record_paths=list(snakemake.input.records),
            rows=snakemake.params.rows,
            benchmarks_folder=str(Path(snakemake.output[0]).parent / "benchmarks"),
            costs_path=snakemake.output[0],
        )
