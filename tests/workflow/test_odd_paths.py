"""Runs whose paths have characters that shells or Snakemake interpret."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from faults_at_work import WITHOUT_FORK_SERVER
from workflow_runs import Workflow

ODD = "my folder [1] it's $HOME & Ü"


@pytest.fixture
def odd_copy(own_copy: Path, tmp_path: Path) -> Path:
    """A copy of the workflow in a folder with an odd name, with an environment in it."""
    folder = shutil.move(own_copy, tmp_path / ODD)
    environment = folder / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to(Path(sys.executable).resolve())
    (environment / "lib").symlink_to(Path(sys.prefix, "lib"))
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), environment)
    return folder


@pytest.mark.parametrize("forked", [True, False])
def test_a_python_in_an_odd_folder_runs_jobs(lexical: Workflow, odd_copy: Path, tmp_path: Path, *, forked: bool) -> None:
    lexical.repository, lexical.program = odd_copy, (str(odd_copy / ".venv/bin/python"), "-m", "snakemake")
    if not forked:
        (tmp_path / "sitecustomize.py").write_text(WITHOUT_FORK_SERVER)
        lexical.environment = {"PYTHONPATH": str(tmp_path)}
    lexical.run("results/corpora/small/corpus.json")
    assert lexical.read("corpora/small/corpus.json")["counts"]["documents"] == 30


def test_braces_in_the_folder_of_the_workflow_or_of_a_model_are_refused_in_a_sentence(
    workflow: Workflow, own_copy: Path, tmp_path: Path
) -> None:
    sentence = "Snakemake interprets '{' in a path; rename the folder, or name a link to it"
    workflow.repository = shutil.move(own_copy, tmp_path / "{braces}")
    output = workflow.run("results/summary.csv", ok=False)
    assert f"{tmp_path}/{{braces}}: {sentence}" in output.splitlines()
    workflow.repository = Workflow.repository
    model = shutil.copytree(workflow.config["custom"]["systems"]["tiny"]["model"], tmp_path / "{model}")
    workflow.config["custom"]["systems"]["tiny"]["model"] = str(model)
    output = workflow.run("results/summary.csv", ok=False)
    assert re.search(rf"^{re.escape(str(model))}/\S+: {re.escape(sentence)}$", output, re.MULTILINE)
    assert "WildcardError" not in output
