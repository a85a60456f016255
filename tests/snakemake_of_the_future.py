"""Snakemake with a version that does not exist yet, whose object `workflow` lacks most of what is not documented.

It is run as a program, in place of ``python -m snakemake``.
"""

import importlib.metadata
from typing import Any

VERSION = "77.1.0"
KEPT = {"is_main_process", "main_snakefile", "pathvars", "storage_settings"}
"""Without these there is no run, or its results would be elsewhere."""


class FutureWorkflow:
    """As much of ``workflow`` as there is in the future."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow

    def __getattr__(self, name: str) -> Any:
        if name not in KEPT:
            raise AttributeError(f"no attribute {name!r}")
        return getattr(self._workflow, name)


def main() -> None:
    """Run Snakemake."""
    version = importlib.metadata.version
    importlib.metadata.version = lambda package: VERSION if package == "snakemake" else version(package)

    from snakemake.cli import main as snakemake
    from snakemake.persistence import PersistenceBase

    from beirflow.run.undocumented import WorkflowRun

    begin, incomplete = WorkflowRun.__init__, PersistenceBase.incomplete
    WorkflowRun.__init__ = lambda self, workflow: begin(self, FutureWorkflow(workflow))  # type: ignore[method-assign]
    PersistenceBase.incomplete = lambda self, job, more=None: incomplete(self, job)
    snakemake()


if __name__ == "__main__":
    main()
