"""Fixtures for running Snakemake on a workflow that a test may change."""

import shutil
from pathlib import Path

import pytest
from workflow_runs import REPOSITORY


@pytest.fixture
def own_copy(tmp_path: Path) -> Path:
    """A copy of the workflow whose code a test may edit."""
    copy = tmp_path / "repository"
    for name in ("workflow", "envs", "profiles"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(REPOSITORY / name, copy / name)
    return copy
