"""The family of rerankers, as the experiment sees it."""

from typing import Any

from beirflow.models.model_files import model_digests, model_files, model_problem
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.family import Family, Reads, Setting


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used."""
    found = model_problem(settings)
    return Setting("model", settings.model, found) if found else None


def reads(settings: Any) -> Reads:
    """The system whose run is ranked again."""
    return Reads({"first": settings.first}, settings.depth)


FAMILY = Family(
    name="rerank",
    settings=RerankSettings,
    problem=problem,
    model_files=model_files,
    has_model=True,
    model_digests=model_digests,
    reads=reads,
    direct=True,
    own_candidates=True,
    spot_checks="beirflow.rerank.spot_check:spot_checks",
)
