"""Matches: the parts of a query that match parts of a document, and the share of each in the score."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Pairs of a query and a document.

    Attributes:
        queries: Texts of queries, each once.
        documents: Texts of documents, each once.
        query: Number of each pair's query, int64 of shape (n,).
        document: Number of each pair's document, int64 of shape (n,).
    """

    queries: Sequence[str]
    documents: Sequence[str]
    query: np.ndarray
    document: np.ndarray


class Match(NamedTuple):
    """Something that a query and a document have in common.

    Attributes:
        of_query: The part of the query: a term, or a token.
        of_document: The part of the document; for a term, the same.
        adds: What it adds to the score.
    """

    of_query: str
    of_document: str
    adds: float


class Matched(NamedTuple):
    """The matches of pairs.

    Attributes:
        matches: Of each pair, the matches that a reader should see.
        made: Precision, device and versions that they were computed with.
    """

    matches: list[list[Match]]
    made: dict[str, str]


def readable(tokenizer: Any, token: int) -> str:
    """A token as a reader knows it: the letters that its bytes are; as the tokenizer has it where there are none."""
    return str(tokenizer.decode([token]).strip() or tokenizer.convert_ids_to_tokens(token))


FindMatches = Callable[[Pairs, Any], Matched]
"""Function of a family that finds the matches of pairs with a :class:`~beirflow.computing.model_settings.Computing`."""
