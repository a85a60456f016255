"""The queries on a page: the choice of those with documents, and the scores of all, to compare two systems query by query.

With their documents are shown all of a small dataset; the most telling ones and a random rest of a large one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, zip_longest
from typing import Any

import numpy as np

from beirflow.report.analysis.document_scan import beginning

LISTED = 10  # queries in the list of two systems, as many as on the page
SHOWN = 100
WORST = 25
DIFFERENT = 50
"""Most queries from the lists of two systems, which lead to their documents; for two systems, these are all of them."""

SEED = 20211018


@dataclass(frozen=True)
class Sample:
    """Shown queries."""

    rows: list[int]  # numbers of the queries, the worst first by their mean over systems
    of: int  # number of all queries
    how: str  # how they were chosen, in words


def choose_queries(scores: np.ndarray, measure: str) -> Sample:
    """Choose the worst queries, those where a system is furthest ahead of another, and a random rest; ties are broken at random.

    ``scores`` is float64 of shape (systems, queries); the sample is the same for the same scores.
    """
    systems, queries = scores.shape
    # A stable sort of shuffled queries breaks ties at random.
    shuffled = np.random.default_rng(SEED).permutation(queries)
    mean = scores.mean(axis=0)
    worst_first = shuffled[np.argsort(mean[shuffled], kind="stable")]
    if queries <= SHOWN:
        return Sample(worst_first.tolist(), queries, "all queries")
    chosen = list(dict.fromkeys(worst_first[:WORST].tolist()))
    parts = [f"the {WORST} worst by {'mean ' if systems > 1 else ''}{measure}"]
    if systems > 1:
        different = _leading(all_ahead(list(scores), np.argsort(shuffled)), set(chosen))
        chosen += different
        parts.append(
            f"then the {len(different)} where one system is ahead of {'the other' if systems == 2 else 'another'} by most"
        )
    rest = shuffled[~np.isin(shuffled, chosen)][: SHOWN - len(chosen)].tolist()
    how = f"{', '.join(parts)}, and {len(rest)} drawn at random from the others"
    taken = set(chosen + rest)
    return Sample([row for row in worst_first.tolist() if row in taken], queries, how)


def _leading(lists: Sequence[Sequence[int]], without: set[int]) -> list[int]:
    """Return the first ``DIFFERENT`` rows that are not excluded: the first of each list, then the second of each, and so on."""
    in_turn = dict.fromkeys(row for places in zip_longest(*lists) for row in places if row is not None)
    return [row for row in in_turn if row not in without][:DIFFERENT]


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
