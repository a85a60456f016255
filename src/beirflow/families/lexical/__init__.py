"""Lexical systems: BM25 over postings of documents, or of documents with an expansion.

Steps: ``index_chunk`` analyses the documents of a chunk, ``sum_statistics`` adds up document frequencies and lengths over the
chunks, and ``search_index`` scores every document of a chunk that has a term of a query, in Lucene's arithmetic.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Interval

from beirflow.core.errors import some
from beirflow.core.keys import HIDDEN, As, Expected, Name, Share, Ties
from beirflow.core.layout import EXPANSION, POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import nearest
from beirflow.families.expansions.models import model_problem
from beirflow.families.expansions.settings import Expansion, WordWeights, WrittenQueries
from beirflow.families.family import Family
from beirflow.families.lexical.fields import Bm25, Index
from beirflow.families.postings.names import ELSEWHERE, ENGLISH, analyses, modules_of
from beirflow.families.stage import DOCUMENTS, Stage, Task, analyzer_code, code_by_name, searches
from beirflow.families.system import Setting, System

FIELDS = (["contents"], ["title", "text"], ["text"], ["title"])  # that can be searched

OF_LANGUAGE = "there is none. Leave such datasets out, or state another analyzer in a system of your own"
"""What to do about a language without an analyzer."""

WORD_BYTES = 1.3  # bytes of postings for each word; 1.2 on NFCorpus and SciFact


@dataclass(frozen=True)
class LexicalSettings:
    """BM25 with the analysis, the lengths and the arithmetic of Lucene."""

    name: Annotated[str, HIDDEN]
    k1: Annotated[float, Interval(ge=0, le=1000)] = 0.9
    """Saturation of term frequency: the higher, the more a repeated term counts; with 0, repetitions do not count."""
    b: Share = 0.4
    """Normalisation by the length of documents, from 0 for none to 1."""
    fields: Annotated[Sequence[str], As(Annotated[Any, Expected(FIELDS.__contains__, choices=FIELDS)])] = ("contents",)
    """Fields that are searched: title and text as one (contents), or title, text or both with statistics of their own, whose
    scores are added; with [title], a document without text is never found, as in Anserini."""
    analyzer: Name = ENGLISH
    """Analyzer of texts, lucene- and a language; by default that of the language of each dataset."""
    ties: Ties = "ascending"
    """Order of the ids of documents with the same score at the cut at top_k: the first are kept, as by Lucene, or the last."""
    expansion: WrittenQueries | None = None
    """Queries that are added to every document (docT5query)."""
    weights: WordWeights | None = None
    """Weights in place of the frequencies of the words (DeepCT)."""
    # by dataset in another language, unless an analyzer is configured
    analyzers: Annotated[Mapping[str, str], HIDDEN] = field(default_factory=dict)
    query_weights: Literal["counts", "bm25"] = "counts"
    """Weight of a term in a query: its count; or its BM25 weight as if the query were a document, as in Pyserini's bm25qs."""

    def __post_init__(self) -> None:
        """Convert the mappings of a configuration, of a rule's parameters or of a manifest to settings."""
        for key, kind in (("expansion", WrittenQueries), ("weights", WordWeights)):
            given: Any = getattr(self, key)
            if isinstance(given, Mapping):
                object.__setattr__(self, key, kind(**given))  # of a frozen class

    def for_dataset(self, dataset: str, _corpus: str = "") -> "LexicalSettings":
        """Return the settings for a dataset, with the analyzer of its language."""
        return replace(self, analyzer=self.analyzers.get(dataset, self.analyzer), analyzers={})

    @property
    def added(self) -> Expansion | None:
        """Expansion of the documents; None without one."""
        return self.expansion or self.weights

    @property
    def index(self) -> Index:
        """Index that is searched."""
        if self.expansion:
            return Index(self.analyzer, self.expansion.name, self.expansion.join)
        if self.weights:
            return Index(self.analyzer, self.weights.name, self.weights.scale)
        return Index(self.analyzer)

    @property
    def bm25(self) -> Bm25:
        """Fields that determine a search."""
        return Bm25(self.index.name, self.k1, self.b, self.searched, self.analyzer, self.query_weights, self.ties)

    @property
    def searched(self) -> tuple[str, ...]:
        """Fields of the postings that are searched.

        An expansion that is a field of its own is indexed in place of the title, and title and text together as the text.
        """
        return ("title", "text") if self.expansion and self.expansion.join == "field" else tuple(self.fields)


def _index(task: Task) -> Any:
    """Return the fields of the index of a job."""
    return task.index._asdict()


class LexicalFamily(Family):
    """Systems that match terms with BM25."""

    name = "lexical"
    settings = LexicalSettings
    by_dataset = has_expansion = True
    answers = "beirflow.families.lexical.answers:open_answers"
    representations = (POSTINGS, STATISTICS, STATISTICS_RECORD)
    stages = (
        Stage(
            "index_chunk",
            "beirflow.families.lexical.index_chunk:index_chunk",
            "index chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.analyzer}",
            reads=DOCUMENTS | {"expansion": EXPANSION},
            makes={"postings": POSTINGS},
            params={"analyzer_code": lambda task: analyzer_code([task.index.analyzer]), "index": _index},
            threads=2,
            represents=True,
        ),
        Stage(
            "sum_statistics",
            "beirflow.families.lexical.statistics:sum_statistics",
            "aggregate the collection statistics of {wildcards.dataset} with {wildcards.analyzer}",
            reads={"postings": POSTINGS},
            makes={"statistics": STATISTICS},
            params={"index": _index},
            priority=1,
        ),
        searches(
            "search_index",
            "beirflow.families.lexical.search_index:search_index",
            reads={"postings": POSTINGS, "statistics": STATISTICS, "expansion": EXPANSION},
            params={"analyzer_code": code_by_name, "bm25": lambda task: task.settings.bm25._asdict()},
        ),
    )

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """Make a system; without an analyzer in its entry, each dataset has that of its language."""
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
        for key, added in (("expansion", settings.expansion), ("weights", settings.weights)):
            if added and (problem := model_problem(added)):
                return Setting(f"{key}.model", added.model, problem)
        return None

    def problems_on(self, settings: LexicalSettings, datasets: Iterable[str]) -> list[Setting]:
        """Return the missing analyzers of the languages of datasets."""
        by_analyzer: dict[str, list[str]] = {}
        for dataset in datasets:
            by_analyzer.setdefault(settings.analyzers.get(dataset, ENGLISH), []).append(dataset)
        return [
            Setting("analyzer", analyzer, f"that of the language of {some(of, 3)}; {problem}")
            for analyzer, of in by_analyzer.items()
            if (problem := _problem_with(analyzer, OF_LANGUAGE))
        ]

    def learns(self, settings: LexicalSettings) -> bool:
        """Test whether documents have an expansion, which a model made."""
        return settings.added is not None

    def in_paths(self, settings: LexicalSettings) -> dict[str, str]:
        """Return the system, and the index that it searches."""
        return {"system": settings.name, "analyzer": settings.index.name}

    def indexes(self, settings: LexicalSettings) -> list[Index]:
        """Return the indexes that the system searches, one for each language."""
        return [settings.index, *(settings.for_dataset(dataset).index for dataset in settings.analyzers)]

    def given_files(self, settings: LexicalSettings, dataset: str) -> dict[str, Path]:
        """Return the given file with the expansion of the documents of a corpus; none where a model makes it."""
        path = settings.added and settings.added.file(dataset)
        return {f"{'expansion' if settings.expansion else 'weights'}.path": path} if path else {}

    def stored_bytes(self, settings: LexicalSettings, documents: int, words: float) -> float:
        """Return the bytes of the postings of documents."""
        return WORD_BYTES * words * documents

    def by_name(self, settings: LexicalSettings) -> tuple[str, ...]:
        """Return the module that makes the analyzer, unless it is that of English."""
        return modules_of(settings.analyzer)


@cache
def _analyzers() -> dict[str, str]:
    """Return by dataset of the catalogue the analyzer of its language unless that is English, installed or not."""
    kinds = load_catalogue().kinds
    every = {name: f"lucene-{kind['language'].lower()}" for name, kind in kinds.items() if kind["language"] != "Multilingual"}
    return {name: analyzer for name, analyzer in every.items() if analyzer != ENGLISH}


def _problem_with(analyzer: str, unknown: str | None = None) -> str | None:
    """Return why there is no analyzer of a name, and what to do: of one that nobody has, ``unknown``; None if there is one."""
    known = analyses()
    if analyzer in known:
        return known[analyzer].problem or None
    allowed = [name for name, analysis in known.items() if not analysis.problem]
    if allowed == [ENGLISH]:
        return f"only {ENGLISH} is here; {ELSEWHERE}"
    return unknown or f"allowed are {', '.join(allowed)}{nearest(analyzer, allowed)}"


FAMILY = LexicalFamily()
