"""Fixtures for running Snakemake on a workflow that a test may change."""

import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from shared_folders import shared_folder
from workflow_runs import REPORTED, REPOSITORY, Workflow


@pytest.fixture(scope="session")
def reported_once(tmp_path_factory: pytest.TempPathFactory, lexical_once: Workflow) -> Workflow:
    """The finished run of BM25 with a report, whose figures take seconds; not to be changed."""
    folder = (
        shared_folder(tmp_path_factory, "reported", lambda folder: lexical_once.copied(folder / "work").run(*REPORTED)) / "work"
    )
    return Workflow(folder, deepcopy(lexical_once.config))


@pytest.fixture
def own_copy(tmp_path: Path) -> Path:
    """A copy of the workflow whose code a test may edit."""
    copy = tmp_path / "repository"
    for name in ("workflow", "src", "extensions", "config", "envs", "profiles"):
        shutil.copytree(REPOSITORY / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(REPOSITORY / name, copy / name)
    return copy
