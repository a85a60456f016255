"""The family of rerankers, as the experiment sees it."""

from typing import Any

from beirflow.dense.family import problem as dense_problem
from beirflow.files.errors import ModelError
from beirflow.files.layout import PAIRS
from beirflow.late.family import problem as late_problem
from beirflow.models.model_files import model_digests, model_files
from beirflow.models.model_places import is_local, model_folder, model_problem
from beirflow.rerank.kinds import kind_of
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.family import Family, Reads, Setting, Stage


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used."""
    if settings.encoder_settings:
        wrong = dense_problem(settings.dense) if settings.dense else late_problem(settings.late)
        return wrong and Setting("model", settings.encoder_settings.name, wrong.problem)
    found = model_problem(settings)
    if found is None and is_local(settings):
        try:
            kind_of(model_folder(settings), settings)
        except ModelError as error:
            found = str(error)
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
    follows="beirflow.rerank.ranked_again:spot_checks",
    answers="beirflow.rerank.answers:open_answers",
    stored=(PAIRS,),
    other_stages=(Stage("score_pairs", query=2.0), Stage("rerank_run", row=1e-6)),
)
