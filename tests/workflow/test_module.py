"""Another workflow uses this one."""

from pathlib import Path

from workflow_runs import REPOSITORY, Workflow

SNAKEFILE = f"""
import sys

sys.path.insert(0, "{REPOSITORY}/src")  # as if it were installed
import beirflow as package

module beirflow:
    snakefile: package.SNAKEFILE
    config: config["beirflow"]

use rule * from beirflow as beirflow_*

onstart:
    beirflow.onstart()

rule mine:
    default_target: True
    input: "results/metrics/tiny/small.json"
    output: "mine.txt"
    shell: "wc -l {{input}} > {{output}}"
"""


def test_another_workflow_uses_the_rules_as_a_module(lexical: Workflow, lexical_once: Workflow) -> None:
    (lexical.folder / "Snakefile").write_text(SNAKEFILE)
    other = Workflow(lexical.folder, {"beirflow": lexical.config}, repository=lexical.folder)
    output = other.run("--logger", "beirflow")
    assert "evaluate tiny on small" in output
    assert "10 jobs to do" in output
    assert other.result("logs/results.lock").exists()
    assert (other.folder / "mine.txt").read_text().endswith("results/metrics/tiny/small.json\n")
    run = Path("results/runs/tiny/small.parquet")
    assert (other.folder / run).read_bytes() == (lexical_once.folder / run).read_bytes()
