"""The family of dense systems, as the experiment sees it."""

from pathlib import Path
from typing import Any

from beirflow.dense.settings import DenseSettings
from beirflow.files.errors import ModelError
from beirflow.files.layout import CHUNK_VECTORS, CHUNK_VECTORS_RECORD, QUERY_VECTORS, RANGES, Pattern
from beirflow.models.model_files import model_card, model_digests, model_files
from beirflow.models.model_places import is_local, model_problem
from beirflow.runs.family import Family, Setting, Stage
from beirflow.training.problems import training_problem


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used, or from being trained."""
    if settings.train and (untrained := training_problem(settings, settings.train)):
        return untrained
    found = model_problem(settings)
    if found is None and not settings.encoder and is_local(settings):
        try:
            model_card(settings)
        except ModelError as error:
            found = str(error)
    return Setting("encoder" if settings.encoder else "model", settings.source, found) if found else None


def given_files(settings: Any, dataset: str) -> dict[str, Path]:
    """The file that holds the queries that an encoder is trained on, by its setting; none where a model writes them."""
    path = settings.added.file(dataset) if settings.added else None
    return {"train.generator.path": path} if path else {}


def searched(settings: Any) -> tuple[Pattern, ...]:
    """What a search reads of every chunk, and of the corpus."""
    return (CHUNK_VECTORS, CHUNK_VECTORS_RECORD, *((RANGES,) if settings.vectors == "int8" else ()))


DIMENSIONS = 768
"""Dimensions of vectors, until a system has run."""


def stored_bytes(settings: Any, documents: int, words: float) -> float:
    """Return the bytes of one float32 vector for each document."""
    return 4.0 * (settings.stored_dimensions or DIMENSIONS) * documents


FAMILY = Family(
    name="dense",
    settings=DenseSettings,
    problem=problem,
    model_files=model_files,
    given_files=given_files,
    has_model=True,
    model_digests=model_digests,
    scores_all=True,
    own_candidates=True,
    spot_checks="beirflow.dense.spot_check:spot_checks",
    answers="beirflow.dense.answers:open_answers",
    searched=searched,
    stored=(QUERY_VECTORS,),
    represents=Stage("encode_chunk", chunked=True, word=2e-4),
    searches=Stage("search_chunk", chunked=True, pair=2e-9),
    other_stages=(Stage("encode_queries", query=2e-3),),
    stored_bytes=stored_bytes,
    assumed_size=f"vectors of {DIMENSIONS} dimensions",
)
