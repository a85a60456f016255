"""Runs of other settings that Snakemake was told to keep: no table shows their scores under the new ones."""

import shlex
import subprocess
from typing import Any

import pytest

from workflow_runs import Workflow

SUMMARY = "results/summary.csv"


def change_system(workflow: Workflow, **settings: Any) -> None:
    workflow.config["custom"]["systems"]["tiny"] |= settings


def refusal(workflow: Workflow, *arguments: str) -> str:
    """Return the refusal of a run, which names the run."""
    output = workflow.run(*arguments, ok=False)
    assert "the run of tiny on small was made with " in output
    return output


def remake(workflow: Workflow, output: str) -> None:
    """Run the command of a refusal, as somebody does who pastes it."""
    (line,) = [line.strip() for line in output.splitlines() if line.startswith("    snakemake --cores all ")]
    words = shlex.split(line)
    workflow.run(*words[words.index("--forcerun") :])


@pytest.mark.parametrize("how", ["touch", "copied"])
def test_scores_of_other_settings_are_refused_until_the_printed_command_has_made_them_again(
    finished_lexical: Workflow, how: str
) -> None:
    workflow = finished_lexical
    before = workflow.result("runs/tiny/small.parquet").read_bytes()
    change_system(workflow, k1=2.5)
    if how == "touch":
        workflow.run("--touch", SUMMARY)
    else:
        subprocess.run(["rm", "-r", str(workflow.folder / ".snakemake")], check=True)
    for target in (SUMMARY, "results/systems.csv"):
        output = refusal(workflow, "--", target)
        assert "k1 0.9, and not 2.5" in output
        assert "Traceback" not in output
        assert not workflow.result("systems.csv").exists()
    # Also if only Snakemake's job sees it.
    workflow.result("summary.csv").unlink()
    refusal(workflow, "--", SUMMARY)
    assert not workflow.result("summary.csv").exists()
    remake(workflow, output)
    workflow.run("--", SUMMARY)
    assert workflow.result("runs/tiny/small.parquet").read_bytes() != before
    assert workflow.read("runs/tiny/small.json")["settings"]["k1"] == 2.5
    workflow.run("--", "audit")


def test_runs_of_vectors_and_runs_of_runs_name_their_settings(finished: Workflow) -> None:
    workflow = finished
    systems = workflow.config["custom"]["systems"]
    systems["both"] = {"family": "fusion", "of": ["tiny", "words"], "method": "rrf"}
    systems["words"] = {"family": "lexical"}
    workflow.config["systems"] = ["both"]
    workflow.run(SUMMARY)
    change_system(workflow, query_prefix="query: ")
    output = refusal(workflow, "--rerun-triggers", "mtime", "--", SUMMARY)
    assert 'query_prefix null, and not "query: "' in output
    assert "the run of both" not in output  # it is made again with what it reads
    remake(workflow, output)
    workflow.run("--rerun-triggers", "mtime", "--", SUMMARY)
    systems["both"]["k"] = 10
    assert "the run of both on small was made with " in workflow.run("--rerun-triggers", "mtime", "--", SUMMARY, ok=False)


def test_settings_of_the_dataset_and_the_depth_count_too(finished_lexical: Workflow) -> None:
    workflow = finished_lexical
    dataset = workflow.config["custom"]["datasets"]["small"]
    copy = workflow.folder / "small"
    subprocess.run(["cp", "-rp", dataset["path"], str(copy)], check=True)  # no file is newer than the results
    subprocess.run(["cp", "-p", str(copy / "qrels/test.tsv"), str(copy / "qrels/dev.tsv")], check=True)
    dataset |= {"path": str(copy), "split": "dev", "drop_self_matches": False}
    workflow.config |= {"top_k": 19, "cutoffs": [1, 10]}
    output = refusal(workflow, "--rerun-triggers", "mtime", "--", SUMMARY)
    differences = ('dataset.split "test", and not "dev"', "dataset.drop_self_matches true, and not false", "top_k 20, and not 19")
    assert all(difference in output for difference in differences)
    assert "--forcerun prepare_corpus " in output
