"""Matches: the parts of a query that match parts of a document, and the share of each in the score."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Pairs of a query and a document."""

    queries: Sequence[str]  # texts of queries, each once
    documents: Sequence[str]  # texts of documents, each once
    query: np.ndarray  # number of each pair's query, int64 of shape (n,)
    document: np.ndarray  # number of each pair's document, int64 of shape (n,)


class Match(NamedTuple):
    """A part of a query that matches a part of a document."""

    of_query: str  # a term or a token
    of_document: str  # for a term, the same
    adds: float  # to the score


class Matched(NamedTuple):
    """The matches of pairs."""

    matches: list[list[Match]]  # of each pair, those that a reader should see
    made: dict[str, str]  # precision, device and versions that they were computed with


FindMatches = Callable[[Pairs, Any], Matched]
"""Function of a family that finds the matches of pairs with a :class:`~beirflow.models.computing.model_settings.Computing`."""
