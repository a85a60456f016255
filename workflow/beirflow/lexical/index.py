"""The identity of an index: the analyzer, and what is added to the documents."""

from typing import NamedTuple

from beirflow.expansions.settings import WordWeights, WrittenQueries

ANALYZER = "lucene-english"
"""The only analyzer; another one, or a change of the terms, needs another name."""


class Index(NamedTuple):
    """Settings that decide over the postings of a corpus.

    Attributes:
        analyzer: What turns texts into terms.
        expansion: Name of what is added to the documents; None where nothing is.
        use: How: ``append``, ``field``, or how weights become frequencies, ``sqrt`` or ``none``; empty where nothing is.
    """

    analyzer: str = ANALYZER
    expansion: str | None = None
    use: str = ""

    @property
    def kind(self) -> str:
        """The kind of the expansion, ``queries`` or ``weights``."""
        return WrittenQueries.kind if self.use in ("append", "field") else WordWeights.kind

    @property
    def name(self) -> str:
        """Return its name in paths, shared by all systems that search it."""
        return self.analyzer if self.expansion is None else f"{self.analyzer}-{self.use}-{self.expansion}"
