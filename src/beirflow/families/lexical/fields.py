"""The settings of a lexical system that each of its steps depends on."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from beirflow.families.postings.names import ENGLISH


class Index(NamedTuple):
    """Settings that determine the postings of a corpus."""

    analyzer: str = ENGLISH  # of texts into terms
    expansion: str | None = None  # name of the expansion of the documents; None without one
    use: str = ""  # "append" or "field" of queries, "sqrt" or "none" of weights; empty without an expansion

    @property
    def kind(self) -> str:
        """Kind of the expansion, ``queries`` or ``weights``."""
        return "queries" if self.use in ("append", "field") else "weights"

    @property
    def name(self) -> str:
        """Name in paths, shared by all systems that search the index."""
        return self.analyzer if self.expansion is None else f"{self.analyzer}-{self.use}-{self.expansion}"


class Bm25(NamedTuple):
    """Settings that determine a search."""

    index_name: str  # of the index that is searched
    k1: float
    b: float
    searched: Sequence[str]  # fields of the postings, each with its own statistics, whose scores are added
    analyzer: str  # of texts into terms
    query_weights: Literal["counts", "bm25"]
    ties: Literal["descending", "ascending"]  # at the cut
