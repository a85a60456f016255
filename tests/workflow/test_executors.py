"""What a run says of the executor of its jobs."""

from workflow_runs import Workflow


def test_a_run_by_snakemakes_own_executor_for_slurm_recommends_ours(lexical: Workflow) -> None:
    """The run fails, since no SLURM has this configuration."""
    lexical.environment = {"SLURM_CONF": "/dev/null"}
    own = ("--executor", "slurm", "--slurm-init-seconds-before-status-checks", "1", "--jobs", "1", "--retries", "0")
    output = lexical.run(*own, "--", "results/corpora/small/queries.parquet", cores=None, ok=False)
    assert output.count("The executor beirflow-slurm does neither: docs/cluster.md") == 1
