"""The family of dense systems, as the experiment sees it."""

from typing import Any

from beirflow.dense.settings import DenseSettings
from beirflow.files.errors import ModelError
from beirflow.models.model_files import is_local, model_card, model_digests, model_files, model_problem
from beirflow.runs.family import Family, Setting


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used."""
    found = model_problem(settings)
    if found is None and not settings.encoder and is_local(settings):
        try:
            model_card(settings)
        except ModelError as error:
            found = str(error)
    return Setting("encoder" if settings.encoder else "model", settings.source, found) if found else None


FAMILY = Family(
    name="dense",
    settings=DenseSettings,
    problem=problem,
    model_files=model_files,
    has_model=True,
    model_digests=model_digests,
    scores_all=True,
    own_candidates=True,
    spot_checks="beirflow.dense.spot_check:spot_checks",
)
