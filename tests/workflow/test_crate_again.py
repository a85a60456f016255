"""The instructions of a crate make its results again, from the crate alone."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from workflow_runs import Workflow


@pytest.mark.long
def test_a_copy_of_a_crate_makes_its_results_again(finished_lexical: Workflow, tmp_path: Path) -> None:
    finished_lexical.run("results/ro-crate-metadata.json")
    crate = Path(shutil.copytree(finished_lexical.result(""), tmp_path / "crate"))
    (command,) = re.findall(r"^ {4}(snakemake .*)$", (crate / "README.md").read_text(), re.MULTILINE)
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(
        words, cwd=crate, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    made = [pd.read_csv(folder / "summary.csv") for folder in (crate, crate / "again/results")]
    measures = [name for name in made[0].columns if "@" in name]
    assert {"NDCG@10", "MRR@10"} <= set(measures)
    pd.testing.assert_frame_equal(made[0][measures], made[1][measures], check_exact=True)
