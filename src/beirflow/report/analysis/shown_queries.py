"""Queries of a page: the choice of those shown with documents, and the scores of all, to compare two systems query by query.

All queries of a small dataset are shown with documents; of a large one, the most informative ones and a random rest.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, zip_longest
from typing import Any

import numpy as np

from beirflow.report.analysis.document_scan import beginning

LISTED = 10  # queries in the list of two systems on the page
SHOWN = 100
WORST = 25
DIFFERENT = 50
"""Maximum number of queries from the lists of two systems, which link to the documents; for two systems, all of them."""

SEED = 20211018


@dataclass(frozen=True)
class Sample:
    """Queries that are shown with documents."""

    rows: list[int]  # numbers of the queries, ascending by mean over systems
    of: int  # number of all queries
    how: str  # description of the choice


def choose_queries(scores: np.ndarray, measure: str) -> Sample:
    """Choose the worst queries, those with the largest difference between two systems, and a random rest; ties break at random.

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
            f"then the {len(different)} with the largest lead of one system over {'the other' if systems == 2 else 'another'}"
        )
    rest = shuffled[~np.isin(shuffled, chosen)][: SHOWN - len(chosen)].tolist()
    how = f"{', '.join(parts)}, and {len(rest)} drawn at random from the others"
    taken = set(chosen + rest)
    return Sample([row for row in worst_first.tolist() if row in taken], queries, how)


def _leading(lists: Sequence[Sequence[int]], without: set[int]) -> list[int]:
    """Return the first ``DIFFERENT`` rows not excluded, round-robin over the lists."""
    in_turn = dict.fromkeys(row for places in zip_longest(*lists) for row in places if row is not None)
    return [row for row in in_turn if row not in without][:DIFFERENT]


def query_scores(
    ids: Sequence[str], texts: Sequence[str], scores: Mapping[str, np.ndarray], shown: Collection[int]
) -> dict[str, Any]:
    """Return the scores of all q queries, float64 of shape (q,) by system, and texts for the lists of the largest differences.

    The keys are ``ids``; ``values``, the distinct scores, ascending; ``of``, by system the place of each query's score in
    ``values``; ``texts``, by id the beginning of listed queries that are not among the numbers ``shown`` with documents.
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
    """Apply :func:`ahead` to every ordered pair of systems."""
    return [ahead(first, second, later) for first, second in permutations(scores, 2)]


def ahead(first: np.ndarray, second: np.ndarray, later: np.ndarray) -> list[int]:
    """Return the queries on which one system leads another by most, by scores of shape (q,), at most ``LISTED``.

    Equal differences are sorted by ``later``, e.g. whether a query is shown without documents, then by number.
    """
    difference = first - second
    # The last key of lexsort is the primary one; the sort is stable, so ties stay in order.
    order = np.lexsort((later, -difference))[:LISTED]
    return [int(row) for row in order if difference[row] > 0]
