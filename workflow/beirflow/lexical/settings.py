"""The settings of a lexical system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from beirflow.expansions.settings import Expansion, WordWeights, WrittenQueries
from beirflow.lexical.index import ANALYZER, Index


@dataclass(frozen=True)
class LexicalSettings:
    """The settings that determine the scores of BM25. The schema checks what they may be.

    Attributes:
        name: Name of the system.
        k1: How late the weight of a repeated term saturates; 0 makes the number of repetitions irrelevant.
        b: How much long documents are held back, from 0, not at all, to 1.
        fields: ``("contents",)``, title and text as one field; or ``title``, ``text`` or both, each with statistics of its own,
            and their scores added.
        analyzer: What turns texts into terms.
        ties: Order of ids by which the cut keeps the first of documents with the same score; Lucene's ascend.
        expansion: Queries that are added to the documents; None if none are.
        weights: Weights that the words of the documents have in place of their frequencies; None if they have none.
    """

    name: str
    k1: float = 0.9
    b: float = 0.4
    fields: Sequence[str] = ("contents",)
    analyzer: str = ANALYZER
    ties: Literal["descending", "ascending"] = "ascending"
    expansion: WrittenQueries | None = field(default=None)
    weights: WordWeights | None = field(default=None)

    def __post_init__(self) -> None:
        """Take entries of a configuration, and what the parameters of a rule or a manifest made of settings."""
        for key, kind in (("expansion", WrittenQueries), ("weights", WordWeights)):
            given: Any = getattr(self, key)
            if isinstance(given, Mapping):
                object.__setattr__(self, key, kind(**given))

    @property
    def added(self) -> Expansion | None:
        """Return the additions to the documents."""
        return self.expansion or self.weights

    @property
    def index(self) -> Index:
        """The postings that are searched."""
        if self.expansion:
            return Index(self.analyzer, self.expansion.name, self.expansion.join)
        if self.weights:
            return Index(self.analyzer, self.weights.name, self.weights.scale)
        return Index(self.analyzer)

    @property
    def searched(self) -> tuple[str, ...]:
        """The fields of the postings that are searched.

        Queries that are a field of their own stand where titles do, and title and text together where texts do: so the field of
        the queries counts where there is a text, as each field does.
        """
        return ("title", "text") if self.expansion and self.expansion.join == "field" else tuple(self.fields)
