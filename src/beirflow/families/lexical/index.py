"""The identity of an index: the analyzer, and what is added to the documents."""

from typing import NamedTuple

from beirflow.families.expansions.settings import WordWeights, WrittenQueries
from beirflow.families.postings.names import ENGLISH


class Index(NamedTuple):
    """Settings that decide over the postings of a corpus."""

    analyzer: str = ENGLISH  # of texts into terms
    expansion: str | None = None  # name of what is added to the documents; None where nothing is
    use: str = ""  # "append" or "field"; or how weights become frequencies, "sqrt" or "none"; empty where nothing is added

    @property
    def kind(self) -> str:
        """Kind of the expansion, ``queries`` or ``weights``."""
        return WrittenQueries.kind if self.use in ("append", "field") else WordWeights.kind

    @property
    def name(self) -> str:
        """Name in paths, shared by all systems that search the index."""
        return self.analyzer if self.expansion is None else f"{self.analyzer}-{self.use}-{self.expansion}"
