"""The family of lexical systems, as the experiment sees it."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.core.layout import DOCUMENTS, EXPANSION, EXPANSION_RECORD, POSTINGS, POSTINGS_RECORD, STATISTICS, STATISTICS_RECORD
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import nearest
from beirflow.families.expansions.models import model_problem
from beirflow.families.family import TOOK, Family, Record, Stage
from beirflow.families.lexical.index import Index
from beirflow.families.lexical.settings import LexicalSettings
from beirflow.families.postings.names import ELSEWHERE, ENGLISH, analyses, modules_of
from beirflow.families.system import Setting, System

WORD_BYTES = 1.3  # bytes of postings for each word; 1.2 on NFCorpus and SciFact

COUNTED = (*TOOK, "counts", "analyzer", "statistics")


class LexicalFamily(Family):
    """Systems that count terms."""

    name = "lexical"
    settings = LexicalSettings
    by_dataset = has_expansion = True
    spot_checks = "beirflow.families.lexical.spot_check:spot_checks"
    follows = "beirflow.families.lexical.run_check:follows"
    answers = "beirflow.families.lexical.answers:open_answers"
    representations = (POSTINGS, STATISTICS, STATISTICS_RECORD)
    records = (
        Record(POSTINGS_RECORD, (DOCUMENTS, EXPANSION, EXPANSION_RECORD), (POSTINGS,), (*TOOK, "analyzer", "rows")),
        Record(STATISTICS_RECORD, (DOCUMENTS, POSTINGS, POSTINGS_RECORD), (STATISTICS,), COUNTED),
    )
    represents = Stage("index_chunk", chunked=True, word=2e-6)
    searches = Stage("search_index", chunked=True, pair=2e-9)
    other_stages = (Stage("sum_statistics", word=1e-8),)

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """Make a system; unless its entry states an analyzer, that of each dataset is the one of its language."""
        return super().system(name, entry if "analyzer" in entry else {**entry, "analyzers": _analyzers()})

    def problem(self, settings: LexicalSettings) -> Setting | None:
        """Return why the system cannot run: contradictory settings or a missing model; None if it can."""
        if problem := _problem_with(settings.analyzer):
            return Setting("analyzer", settings.analyzer, problem)
        if settings.query_weights == "bm25" and settings.searched != ("contents",):
            todo = "queries are weighed in title and text as one field; use fields: [contents], and no field of queries"
            return Setting("query_weights", "bm25", todo)
        if settings.expansion and settings.weights:
            return Setting(
                "weights", settings.weights.name, "weighed words cannot be combined with queries; remove one of the two"
            )
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

    def problems_on(self, settings: LexicalSettings, datasets: Iterable[str]) -> list[Setting]:
        """Return the datasets whose language has no analyzer here."""
        missing: dict[str, list[str]] = {}
        for dataset in datasets:
            if _problem_with(analyzer := settings.analyzers.get(dataset, ENGLISH)):
                missing.setdefault(analyzer, []).append(dataset)
        return [
            Setting("analyzer", analyzer, f"that of the language of {', '.join(of)}; {_problem_with(analyzer)}")
            for analyzer, of in missing.items()
        ]

    def learns(self, settings: LexicalSettings) -> bool:
        """Test whether a model adds to the documents."""
        return settings.added is not None

    def in_paths(self, settings: LexicalSettings) -> dict[str, str]:
        """Return the system, and the index that it searches."""
        return {"system": settings.name, "analyzer": settings.index.name}

    def indexes(self, settings: LexicalSettings) -> list[Index]:
        """Return the postings that are searched, of datasets in each language."""
        return [settings.index, *(settings.for_dataset(dataset).index for dataset in settings.analyzers)]

    def given_files(self, settings: LexicalSettings, dataset: str) -> dict[str, Path]:
        """Return the file that holds what is added to the documents of a corpus; none where a model makes it."""
        added = {"expansion": settings.expansion, "weights": settings.weights}
        files = {f"{key}.path": value.file(dataset) for key, value in added.items() if value}
        return {key: path for key, path in files.items() if path}

    def stored_bytes(self, settings: LexicalSettings, documents: int, words: float) -> float:
        """Return the bytes of the postings of documents."""
        return WORD_BYTES * words * documents

    def by_name(self, settings: LexicalSettings) -> tuple[str, ...]:
        """Return the module that makes the analyzer, unless it is that of English."""
        return modules_of(settings.analyzer)


@cache
def _analyzers() -> dict[str, str]:
    """Return by dataset of the catalogue that is not in English the analyzer of its language, here or not."""
    kinds = load_catalogue().kinds
    every = {name: f"lucene-{kind['language'].lower()}" for name, kind in kinds.items() if kind["language"] != "Multilingual"}
    return {name: analyzer for name, analyzer in every.items() if analyzer != ENGLISH}


def _problem_with(analyzer: str) -> str | None:
    """Return why there is no analyzer of a name, and what to do; None if there is one."""
    known = analyses()
    if analyzer in known:
        return known[analyzer].problem or None
    allowed = [name for name, analysis in known.items() if not analysis.problem]
    if allowed == [ENGLISH]:
        return f"only {ENGLISH} is here; {ELSEWHERE}"
    return f"allowed are {', '.join(allowed)}{nearest(analyzer, allowed)}"


FAMILY = LexicalFamily()
