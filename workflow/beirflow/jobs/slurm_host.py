"""Prepare the process that submits to SLURM: follow its jobs, and survive an unreachable controller.

snakemake-executor-plugin-slurm 2.8.0 calls sbatch and sinfo once, without a pause before the next attempt.
"""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from beirflow.jobs.slurm_patience import TERMINAL
from beirflow.jobs.slurm_watch import JobWatch

PLUGIN = "snakemake_executor_plugin_slurm"
PATIENT = ("sbatch", "sinfo")
"""Commands that are called through :mod:`beirflow.jobs.slurm_patience`."""


def stand_by_slurm() -> None:
    """Prepare this process, which submits jobs to SLURM; do nothing without SLURM or with another plugin."""
    plugin: Any = sys.modules.get(PLUGIN)
    if plugin is None or shutil.which("sbatch") is None:
        return
    watch = JobWatch()
    # A bound method would not get the executor.
    plugin.Executor.check_active_jobs = lambda executor, jobs: watch.check_active_jobs(executor, jobs)
    _call_with_patience()


def _call_with_patience() -> None:
    """Put commands of the same names before those of SLURM, for all processes that this one starts."""
    folder = Path(tempfile.mkdtemp(prefix="beirflow-slurm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {package!r}); from beirflow.jobs.slurm_patience import main; main()"
    for name in PATIENT:
        if real := shutil.which(name):
            words = shlex.join([sys.executable, "-c", code, real])
            (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (folder / name).chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ[TERMINAL] = f"/proc/{os.getpid()}/fd/2"
