"""The host that submits to SLURM: the plugin that is really used, with scripts in the place of SLURM's commands."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from beirflow.jobs import slurm_host as module
from beirflow.jobs.slurm_host import stand_by_slurm

plugin: Any = pytest.importorskip("snakemake_executor_plugin_slurm")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of commands."""
    for name, does in (("sbatch", "echo 8"), ("sinfo", "echo main*")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(module.TERMINAL, "")
    monkeypatch.setattr(plugin.Executor, "check_active_jobs", plugin.Executor.check_active_jobs)  # put back afterwards
    return tmp_path


def test_commands_are_called_with_patience_and_get_what_they_were_given(slurm: Path) -> None:
    stand_by_slurm()
    for command, printed in (("sbatch --wrap 'a b'", "8\n"), ("sinfo -o %P", "main*\n")):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 -- as the plugin does
        assert done.stdout == printed
    found = subprocess.run("command -v sbatch", shell=True, capture_output=True, text=True, check=True)  # noqa: S602
    assert not found.stdout.startswith(str(slurm))
