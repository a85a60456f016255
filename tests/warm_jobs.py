"""Processes of tests that have imported what jobs import, which takes most of a short job; all others are forked from them."""

import importlib
import os
import pkgutil
import sys

PROCESS = "PYTEST_XDIST_WORKER"
"""Variable of the environment that processes of tests have, but for the one that hands tests out."""


def import_libraries() -> None:
    """Import all of beirflow, which runs of other copies of the workflow forget, and what its jobs import."""
    import beirflow
    from beirflow.run.worker import import_for_jobs

    names = [name for _, name, is_room in pkgutil.walk_packages(beirflow.__path__, "beirflow.") if not is_room]
    import_for_jobs(names)
    for name in ("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg", "pyarrow.dataset", "scipy.stats"):
        importlib.import_module(name)
    from beirflow.config.load import load_experiment
    from beirflow.run.code_version import code_of

    load_experiment({})  # reads the catalogue and makes models, which are kept
    code_of(names)  # keeps the digests of modules: a quarter of the time of a plan


def forget_power_losses() -> None:
    """Let this process wait for no disk: that a file is on it matters where the power is lost, which no test does."""
    os.fsync = lambda descriptor: None


def forget_beirflow() -> None:
    """Let this process import beirflow from the copy of the workflow that it belongs to, whose code a test may have edited."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "beirflow"]:
        del sys.modules[name]
