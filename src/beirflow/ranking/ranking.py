"""The ranking rule, written once: score descending as float32, then document id descending in byte order, as trec_eval 9 ranks.

Stored runs have this order, and so has everything that reads one. A system may break ties at its cut at k as Lucene does, by
ascending ids: that decides which documents are kept, in every chunk and in the merge, and nothing else.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Ties = Literal["descending", "ascending"]
"""Order of ids by which a cut at k keeps the first of several documents with the same score."""

Hits = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Number of the query and row of the document, integers, and score, float32, of n hits, each of shape (n,)."""


def no_hits() -> Hits:
    """Return no hit, of the types that hits have."""
    return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)


def byte_order(ids: pa.Array, ties: Ties = "descending") -> np.ndarray:
    """Return the position of every id in the byte order of all of them.

    Args:
        ids: n ids; the order of equal ones is not defined.
        ties: ``descending``, the order of the ranking rule; ``ascending`` only for the cut of a system that says so.

    Returns:
        int64 of shape (n,); of documents with the same score, the one with the larger number comes first.
    """
    positions = np.empty(len(ids), dtype=np.int64)
    positions[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids)) if ties == "descending" else -np.arange(len(ids))
    return positions


def rank(
    queries: np.ndarray, scores: np.ndarray, id_order: Callable[[np.ndarray], np.ndarray], k: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rank the documents of each query and keep the first k.

    Args:
        queries: Number of the query of each candidate, integers of shape (n,).
        scores: Score of each candidate, float32 of shape (n,).
        id_order: Gives the places in byte order of the document ids of some candidates, by the candidates' indices; asked only
            for candidates whose scores tie, since ids are slow to sort.
        k: Documents to keep for each query; all if None.

    Returns:
        Indices of the candidates that are kept, sorted by query and then by rank; and their ranks from 1, int32.
    """
    key = _sort_key(queries, scores)
    # Need not be stable: candidates with equal keys are put in the order of their ids next.
    order = np.argsort(key)
    _break_ties(order, key[order], id_order)
    sorted_queries = queries[order]
    places = np.arange(len(order))
    is_first = np.append(True, sorted_queries[1:] != sorted_queries[:-1])[: len(order)]
    ranks = (places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1).astype(np.int32)
    if k is None:
        return order, ranks
    return order[ranks <= k], ranks[ranks <= k]


def merge_hits(
    parts: Sequence[Hits], id_order: Callable[[np.ndarray], np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Merge lists of hits, in any order, and keep the first k of each query; ``id_order`` gives places in byte order, by rows.

    Returns number of the query, row and score of each hit, sorted by query and then by rank; and its rank from 1, int32.
    """
    query, row, score = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    kept, ranks = rank(query, score, lambda tied: id_order(row[tied]), k)
    return query[kept], row[kept], score[kept], ranks


class Cut(NamedTuple):
    """The documents that are kept of each query: the first k by score and then by the order of ties, without excluded ones."""

    k: int
    id_order: np.ndarray  # place of each document's id in that order, as of :func:`byte_order`, integers of shape (documents,)
    excluded: np.ndarray  # for each query rows of documents that are left out, or -1; shape (queries,) or (queries, n)

    def first_of(self, parts: Sequence[Hits]) -> Hits:
        """Merge lists of hits, none excluded, in any order: those that are kept, sorted by query and then by rank."""
        return merge_hits(parts, lambda rows: self.id_order[rows], self.k)[:3]


def rank_hits(
    parts: Sequence[Hits], doc_ids: pa.Array, k: int, ties: Ties = "descending"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut lists of hits to the first k of each query, and rank what is kept: the rows of a run.

    Args:
        parts: The lists, in any order.
        doc_ids: Ids of the documents, by their rows.
        k: Documents to keep for each query.
        ties: Order of the ids of documents with the same score at the cut; the ranks follow the ranking rule whatever it is.

    Returns:
        Number of the query, row and score of each hit, sorted by query and then by rank; and its rank from 1, int32.
    """

    def id_order(rows: np.ndarray, ties: Ties = "descending") -> np.ndarray:
        """Return the places of rows in the order of their ids."""
        # Only of tied documents: sorting millions of ids is slow.
        return byte_order(doc_ids.take(pa.array(rows)), ties)

    # Where a system breaks ties as Lucene does, that order decides what is kept, and the ranking rule what comes first.
    kept = merge_hits(parts, lambda rows: id_order(rows, ties), k)
    return kept if ties == "descending" else merge_hits([kept[:3]], id_order, k)


def _sort_key(queries: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return one uint64 a candidate that ascends with the query and, inside a query, descends with the score: fast to sort."""
    # Not-a-number ranks last; adding 0 makes -0 equal to 0.
    bits = (np.fmax(np.asarray(scores, dtype=np.float32), np.float32(-np.inf)) + np.float32(0)).view(np.uint32)
    # As integers, the bits of floats above 0 ascend with them, and those of floats below 0 descend.
    ascending = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return (queries.astype(np.uint64) << np.uint64(32)) | ~ascending


def _break_ties(order: np.ndarray, sorted_key: np.ndarray, id_order: Callable[[np.ndarray], np.ndarray]) -> None:
    """Put candidates with equal keys, which are neighbours, into the order of their ids, in place."""
    same_as_next = sorted_key[1:] == sorted_key[:-1]
    tied = np.flatnonzero(np.append(same_as_next, False) | np.append(False, same_as_next)[: len(order)])
    if len(tied):
        group = np.cumsum(np.append(True, np.diff(sorted_key[tied]) != 0))
        # One number to sort by is several times faster than two: places are within 2 ** 31 of 0.
        order[tied] = order[tied][np.argsort((group << 32) - id_order(order[tied]))]
