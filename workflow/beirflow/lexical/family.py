"""The family of lexical systems, as the experiment sees it."""

from pathlib import Path
from typing import Any

from beirflow.expansions.models import model_problem
from beirflow.files.layout import POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.lexical.settings import LexicalSettings
from beirflow.runs.family import Family, Setting, Stage


def problem(settings: Any) -> Setting | None:
    """What keeps a system from being used: settings that do not go together, or a model that is not there."""
    if settings.expansion and settings.weights:
        return Setting("weights", settings.weights.name, "weighed words cannot be combined with queries; remove one of the two")
    if tuple(settings.fields) != ("contents",):
        if settings.weights:
            return Setting("fields", list(settings.fields), "words are weighed in title and text together; use [contents]")
        if settings.expansion and settings.expansion.join == "field":
            todo = "with a field of queries, title and text are one field; use [contents], or join: append"
            return Setting("fields", list(settings.fields), todo)
    for key in ("expansion", "weights"):
        added = getattr(settings, key)
        if added and (found := model_problem(added)):
            return Setting(f"{key}.model", added.model, found)
    return None


def given_files(settings: Any, dataset: str) -> dict[str, Path]:
    """The file that holds what is added to the documents of a corpus, by its setting; none where a model makes it."""
    found = {key: getattr(settings, key).file(dataset) for key in ("expansion", "weights") if getattr(settings, key)}
    return {f"{key}.path": path for key, path in found.items() if path}


WORD_BYTES = 1.3
"""Bytes of postings for each word, as measured on NFCorpus and SciFact: 1.2."""


FAMILY = Family(
    name="lexical",
    settings=LexicalSettings,
    problem=problem,
    given_files=given_files,
    spot_checks="beirflow.lexical.spot_check:spot_checks",
    answers="beirflow.lexical.answers:open_answers",
    searched=lambda _: (POSTINGS, STATISTICS, STATISTICS_RECORD),
    represents=Stage("index_chunk", chunked=True, word=2e-6),
    searches=Stage("search_index", chunked=True, pair=2e-9),
    other_stages=(Stage("sum_statistics", word=1e-8),),
    stored_bytes=lambda _, documents, words: WORD_BYTES * words * documents,
)
