"""The family of dense systems, as the experiment sees it."""

from typing import Any

from beirflow.dense.settings import DenseSettings
from beirflow.models.model_files import model_files, model_problem
from beirflow.runs.family import Family, Setting


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used."""
    found = model_problem(settings)
    return Setting("model", settings.model, found) if found else None


FAMILY = Family(
    name="dense",
    settings=DenseSettings,
    problem=problem,
    model_files=model_files,
    has_model=True,
    scores_all=True,
    spot_checks="beirflow.dense.spot_check:spot_checks",
)
