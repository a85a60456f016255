"""A Snakemake that does not exist yet: what depends on its inside is switched off with a sentence; the results are the same."""

import os
import sys

import pandas as pd

from snakemake_of_the_future import VERSION
from workflow_runs import REPOSITORY, Workflow

UNCHANGED = ["system", "dataset", "documents", "queries", "NDCG@10", "Recall@100"]


def test_a_run_of_another_snakemake_says_what_it_lacks_and_has_the_same_results(
    lexical: Workflow, finished_lexical: Workflow
) -> None:
    lexical.program = (sys.executable, "-P", str(REPOSITORY / "tests/snakemake_of_the_future.py"))
    path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY / "tests")])
    lexical.environment = {"PYTHONPATH": path}
    output = lexical.run("results/summary.csv")
    lines = output.splitlines()
    assert sum(line.startswith(f"snakemake {VERSION} is newer than ") for line in lines) == 1
    assert [line for line in lines if "there are no progress and no checks of the plan" in line]
    assert [line for line in lines if "failed jobs run again only if a requested file is missing" in line]
    assert "Traceback" not in output
    one, other = (pd.read_csv(each.result("summary.csv")) for each in (lexical, finished_lexical))
    common = [name for name in UNCHANGED if name in one]
    assert len(common) > 3
    pd.testing.assert_frame_equal(one[common], other[common])
    # The lock of the results was taken although the plan is not known.
    assert lexical.result("logs/results.lock").read_text()
    assert "Nothing to do" in lexical.run("results/summary.csv")
