"""The settings of a lexical system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from beirflow.families.expansions.settings import Expansion, WordWeights, WrittenQueries
from beirflow.families.lexical.bm25 import Bm25
from beirflow.families.lexical.index import Index
from beirflow.families.postings.names import ENGLISH


@dataclass(frozen=True)
class LexicalSettings:
    """The settings that determine the scores of BM25. The schema checks what they may be."""

    name: str
    k1: float = 0.9  # how late the weight of a repeated term saturates; 0 makes the number of repetitions irrelevant
    b: float = 0.4  # how much long documents are held back, from 0, not at all, to 1
    # "contents", title and text as one field; or "title", "text" or both, each with its own statistics, their scores added.
    fields: Sequence[str] = ("contents",)
    analyzer: str = ENGLISH  # of texts into terms
    ties: Literal["descending", "ascending"] = "ascending"  # at the cut; Lucene's ids ascend
    expansion: WrittenQueries | None = None  # queries that are added to the documents
    weights: WordWeights | None = None  # of the words of the documents, in place of their frequencies
    analyzers: Mapping[str, str] = field(default_factory=dict)  # by dataset in another language, where no analyzer is stated
    # How much a term of the query counts: "counts", as often as the query has it; or "bm25", as if the query were a document.
    query_weights: Literal["counts", "bm25"] = "counts"

    def __post_init__(self) -> None:
        """Convert entries of a configuration, and what the parameters of a rule or a manifest made of settings."""
        for key, kind in (("expansion", WrittenQueries), ("weights", WordWeights)):
            given: Any = getattr(self, key)
            if isinstance(given, Mapping):
                object.__setattr__(self, key, kind(**given))  # of a frozen class

    def for_dataset(self, dataset: str, _corpus: str = "") -> "LexicalSettings":
        """Return the settings for a dataset, with the analyzer of its language."""
        return replace(self, analyzer=self.analyzers.get(dataset, self.analyzer), analyzers={})

    @property
    def added(self) -> Expansion | None:
        """Additions to the documents; None without any."""
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
        """Fields that decide over a search."""
        return Bm25(self.index.name, self.k1, self.b, self.searched, self.analyzer, self.query_weights, self.ties)

    @property
    def searched(self) -> tuple[str, ...]:
        """Fields of the postings that are searched.

        Queries that are a field of their own stand where titles do, and title and text together where texts do: so the field of
        the queries counts where there is a text, as each field does.
        """
        return ("title", "text") if self.expansion and self.expansion.join == "field" else tuple(self.fields)
