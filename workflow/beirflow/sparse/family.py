"""The family of learned sparse systems, as the experiment sees it."""

from pathlib import Path

from beirflow.expansions.models import model_problem as expansion_problem
from beirflow.files.layout import QUERY_WEIGHTS, TERM_WEIGHTS
from beirflow.runs.family import Family, Setting, Stage
from beirflow.sparse.model_folders import digests_of, local_files, model_problem
from beirflow.sparse.parts import AROUND
from beirflow.sparse.settings import USUAL_LENGTHS, SparseSettings

NOT_OF_UNICOIL = ("pooling", "activation", "most_terms")
"""Settings that would be ignored."""


def problem(settings: SparseSettings) -> Setting | None:
    """What keeps a system from being used: settings that do not go together, or a model that is not there."""
    if settings.head == "unicoil":
        for key in NOT_OF_UNICOIL:
            if (value := getattr(settings, key)) is not None:
                return Setting(key, value, "uniCOIL gives each token one weight and ignores this; remove the key")
    added = settings.expansion
    if added is None:
        for key in USUAL_LENGTHS:
            if (length := getattr(settings, key)) is not None:
                return Setting(key, length, "the documents have no expansion; remove the key, or name an expansion")
        return model_problem(settings)
    if settings.head != "unicoil":
        return Setting("expansion", added.name, f"a model with head: {settings.head} adds terms itself; expected head: unicoil")
    longest = (settings.text_length or 0) + (settings.expansion_length or 0) + AROUND
    if settings.max_length is not None and longest > settings.max_length:
        todo = "lower text_length or expansion_length"
        needs = f"text_length {settings.text_length}, expansion_length {settings.expansion_length} and {AROUND} special tokens"
        return Setting("max_length", settings.max_length, f"{needs} are {longest}; {todo}, or raise it")
    if found := expansion_problem(added):
        return Setting("expansion.model", added.model, found)
    return model_problem(settings)


def given_files(settings: SparseSettings, dataset: str) -> dict[str, Path]:
    """The file that holds what is added to the documents of a corpus, by its setting; none where a model makes it."""
    path = settings.expansion and settings.expansion.file(dataset)
    return {"expansion.path": path} if path else {}


def matches(settings: SparseSettings) -> str | None:
    """What finds the terms that two texts share; nothing where documents are weighed with what a model has written."""
    return None if settings.expansion else "beirflow.sparse.matches:match_terms"


DOCUMENT_BYTES = 1500.0
"""Bytes of the weights of a document: some two hundred terms."""


FAMILY = Family(
    name="sparse",
    settings=SparseSettings,
    problem=problem,
    model_files=local_files,
    model_digests=digests_of,
    given_files=given_files,
    spot_checks="beirflow.sparse.spot_check:spot_checks",
    answers="beirflow.sparse.answers:open_answers",
    matches=matches,
    searched=lambda _: (TERM_WEIGHTS,),
    stored=(QUERY_WEIGHTS,),
    represents=Stage("weigh_chunk", chunked=True, word=4e-4),
    searches=Stage("search_weights", chunked=True, pair=2e-8),
    other_stages=(Stage("weigh_queries", query=4e-3),),
    stored_bytes=lambda _settings, documents, _words: DOCUMENT_BYTES * documents,
    assumed_size=f"weights of {DOCUMENT_BYTES:,.0f} bytes a document",
)
