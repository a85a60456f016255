"""Fixtures for running Snakemake."""

import shutil
from pathlib import Path

import pytest
from workflow_runs import REPOSITORY, Workflow, small_dataset, tiny_system


@pytest.fixture
def workflow(tmp_path: Path, tiny_bert: Path) -> Workflow:
    """One system, one dataset of 30 documents in three chunks."""
    small_dataset(tmp_path / "data/small")
    config = {
        "systems": ["tiny"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 10,
        "top_k": 20,
        "cutoffs": [1, 10, 20],
        "custom": {
            "systems": {"tiny": tiny_system(tiny_bert)},
            "datasets": {"small": {"path": str(tmp_path / "data/small")}},
        },
    }
    return Workflow(tmp_path, config)


@pytest.fixture
def own_copy(tmp_path: Path) -> Path:
    """A copy of the workflow whose code a test may edit."""
    copy = tmp_path / "repository"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("workflow", "envs", "profiles"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=ignored)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(REPOSITORY / name, copy / name)
    return copy
