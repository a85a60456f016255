"""The family of rerankers, as the experiment sees it."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

from beirflow.core.layout import CORPUS, PAIRS, RUN
from beirflow.families.dense.family import FAMILY as DENSE
from beirflow.families.family import Family, Reads
from beirflow.families.late_interaction.family import FAMILY as LATE
from beirflow.families.rerank.kinds import kind_of
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.stage import MODEL, TEXTS, First, Stage, code_by_name, precision, run_settings, settings_on, top_k
from beirflow.families.system import Setting
from beirflow.models.model_files import model_files
from beirflow.models.model_places import model_folder, problem_with
from beirflow.models.settings import ModelSettings

OF_THE_MODEL = tuple(field.name for field in fields(ModelSettings) if field.name != "name")
"""Settings that a reranker takes from the system whose model it uses."""


class RerankFamily(Family):
    """Systems that rank the first documents of another run again."""

    name = "rerank"
    settings = RerankSettings
    by_dataset = has_card = True
    within: ClassVar = {"float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-1, "int8": 5e-1, "unknown": 5e-1}
    has_model = True
    direct = True
    own_candidates = True
    answers = "beirflow.families.rerank.answers:open_answers"
    stages = (
        Stage(
            "score_pairs",
            "beirflow.families.rerank.score_pairs:score_pairs",
            "score block {wildcards.block} of {wildcards.dataset} with {wildcards.system}",
            reads={"first_run": First(RUN), **TEXTS, **MODEL},
            makes={"pairs": PAIRS},
            params={
                "scorer_code": code_by_name,
                "settings": settings_on("below", "weights_sha256"),
                "precision": precision,
                "blocks": lambda task: task.experiment.query_blocks(task.wildcards["dataset"]),
            },
            gpu=True,
            updates=True,
        ),
        Stage(
            "rerank_run",
            "beirflow.families.rerank.rerank_run:rerank_run",
            "rerank the documents of {wildcards.dataset} with {wildcards.system}",
            reads={"first_run": First(RUN), "pairs": PAIRS, "corpus": CORPUS},
            makes={"run": RUN},
            params={"settings": settings_on("weights_sha256"), "top_k": top_k, "run_settings": run_settings},
        ),
    )

    def problem(self, settings: RerankSettings) -> Setting | None:
        """Return why the model of a system cannot be used."""
        if encoder := settings.encoder_settings:
            wrong = (DENSE if settings.dense else LATE).problem(encoder)
            return wrong and Setting("model", encoder.name, wrong.problem)
        problem = problem_with(settings, lambda: kind_of(model_folder(settings), settings))
        return Setting("encoder" if settings.encoder else "model", settings.source, problem) if problem else None

    def problems_on(self, settings: RerankSettings, datasets: Iterable[str]) -> list[Setting]:
        """Return what the encoder that scores pairs lacks."""
        dense = settings.dense
        return [wrong._replace(system=dense.name) for wrong in DENSE.problems_on(dense, datasets)] if dense else []

    def reads_query_lists(self, settings: RerankSettings) -> bool:
        """Test whether a query may be a list of texts, as for the encoder that scores pairs."""
        return settings.dense is not None

    def reads(self, settings: RerankSettings) -> Reads:
        """Return the system whose run is ranked again."""
        return Reads({"first": settings.first}, settings.depth)

    def by_name(self, settings: RerankSettings) -> tuple[str, ...]:
        """Return the module that scores pairs, if the reranker uses a system of another family."""
        return (settings.pairs.partition(":")[0],) if settings.pairs else ()

    def scored_by(self, settings: RerankSettings) -> str:
        """Return the model, which may be the name of a system."""
        return settings.source

    def with_scorer(self, settings: RerankSettings, scorer: Mapping[str, Any]) -> RerankSettings:
        """Return the settings with the model and the settings of another system."""
        (other,) = scorer.values()
        return replace(settings, **{key: getattr(other, key) for key in OF_THE_MODEL}, **scorer)

    def model_files(self, settings: RerankSettings) -> list[Path]:
        """Return the files of the model."""
        return model_files(settings)


FAMILY = RerankFamily()
