"""The choice of shown queries: all of a small dataset; the most telling ones and a random rest of a large one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from beirflow.analysis.query_scores import all_ahead

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
