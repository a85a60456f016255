"""The family of imported runs, as the experiment sees it."""

from pathlib import Path
from typing import Any

from beirflow.imported.settings import ImportedSettings
from beirflow.runs.family import Family, Setting, Stage


def problem(settings: Any) -> Setting | None:
    """Nothing but a missing file keeps a run from being used, and that depends on the corpus."""
    return None


def source(settings: Any, dataset: str) -> Path | None:
    """The file that holds the run on a corpus."""
    return settings.path(dataset)


FAMILY = Family(
    name="run",
    settings=ImportedSettings,
    problem=problem,
    source=source,
    direct=True,
    spot_checks="beirflow.imported.spot_check:spot_checks",
    follows="beirflow.imported.spot_check:spot_checks",
    other_stages=(Stage("import_run", row=4e-6),),
)
