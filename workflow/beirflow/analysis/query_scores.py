"""The score of every query of a corpus for every system, to compare two systems query by query."""

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from beirflow.analysis.document_scan import beginning

LISTED = 10  # queries in the list of two systems, as many as on the page


def query_scores(
    ids: Sequence[str], texts: Sequence[str], scores: Mapping[str, np.ndarray], shown: Collection[int]
) -> dict[str, Any]:
    """Return the scores of all q queries, float64 of shape (q,) by system, and the texts for a list of those that differ most.

    These are ``ids``; ``values``, every score that occurs, ascending, and ``of``, by system the place of each query's score
    there, since few occur; ``texts``, by id the beginning of those that are listed and not among the numbers ``shown`` with
    documents.
    """
    values, places = np.unique(np.stack(list(scores.values())), return_inverse=True)
    unseen = np.ones(len(ids), bool)
    unseen[list(shown)] = False
    listed = {row for rows in all_ahead(list(scores.values()), unseen) for row in rows}
    return {
        "ids": list(ids),
        "values": values.tolist(),
        "of": {system: row.tolist() for system, row in zip(scores, places.reshape(len(scores), -1), strict=True)},
        "texts": {ids[row]: beginning(texts[row]) for row in sorted(listed) if unseen[row]},
    }


def all_ahead(scores: Sequence[np.ndarray], later: np.ndarray) -> list[list[int]]:
    """Apply :func:`ahead` to every two systems in both orders."""
    return [ahead(first, second, later) for first, second in permutations(scores, 2)]


def ahead(first: np.ndarray, second: np.ndarray, later: np.ndarray) -> list[int]:
    """Find the queries on which one system is furthest ahead of another, by scores of shape (q,), at most ``LISTED``.

    Equal differences are in ascending order of ``later``, such as whether a query is not shown with its documents, then by
    number.
    """
    difference = first - second
    # The last key of lexsort is the first one; it is stable, so that equal queries stay in order.
    order = np.lexsort((later, -difference))[:LISTED]
    return [int(row) for row in order if difference[row] > 0]
