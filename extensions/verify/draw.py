"""The sample: which queries are checked, which documents are encoded, and which errors that finds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MOST_DOCUMENTS = 20_000  # of a pool
MOST_PAIRS = 20_000_000  # of a query and a document of the pool; each is a row of a run

FOR_RELEVANT, FOR_WHOLE = 0.4, 0.8
"""Shares of the pool after which no more relevant documents are taken, and no more queries whole; the rest is drawn at random."""

SURE = 0.99  # chance with which an error is found


@dataclass(frozen=True)
class Sample:
    """Queries and documents that are encoded."""

    queries: list[str]  # whose relevant documents among the first are in the pool, in the drawn order
    whole: int  # number of first queries of which all documents that matter are in the pool
    pool: list[str]  # ids of documents
    random: int  # how many of them were drawn from all documents


def draw(
    random: np.random.Generator,
    query_ids: Sequence[str],
    doc_ids: np.ndarray,
    relevant: Mapping[str, Sequence[str]],
    around: Mapping[str, Sequence[str]],
    share: float,
) -> Sample:
    """Draw a sample for a share of the documents, and at least one whole query.

    A score that was raised shows in the relevant documents among the claimed first ones, ``relevant`` by query, so these come
    first: one or two a query. Of fewer queries come the documents ``around`` them: all claimed first ones, the first of BM25, and
    further relevant ones. Queries are taken in a random order until the first that does not fit, so that none is preferred.
    """
    budget = min(math.ceil(share * len(doc_ids)), MOST_DOCUMENTS)
    order, most = [query_ids[place] for place in random.permutation(len(query_ids))], max(1, MOST_PAIRS // budget)
    if budget == len(doc_ids):
        return Sample(order[:most], min(most, len(order)), doc_ids.tolist(), 0)
    pool: dict[str, None] = {}

    def take(documents: Mapping[str, Sequence[str]], limit: float) -> int:
        """Add the documents of queries while they fit; return for how many they do."""
        for number, query in enumerate(order[:most]):
            added = [each for each in documents.get(query, ()) if each not in pool]
            if len(pool) + len(added) > limit and (number or limit < budget * FOR_WHOLE):  # one whole query at least
                return number
            pool.update(dict.fromkeys(added))
        return min(most, len(order))

    checked = take(relevant, budget * FOR_RELEVANT) if relevant else 0
    whole = take(around, budget * FOR_WHOLE)
    before = len(pool)
    for place in random.permutation(len(doc_ids)):
        if len(pool) >= budget:
            break
        pool[str(doc_ids[place])] = None
    return Sample(order[: max(checked, whole)], whole, list(pool), len(pool) - before)


def chance_to_miss(queries: int, checked: int, wrong: int) -> float:
    """Return the chance that a sample of queries holds none of the wrong ones (hypergeometric)."""
    if wrong > queries - checked:
        return 0.0
    places = np.arange(wrong, dtype=np.float64)
    return float(np.exp(np.log1p(-checked / (queries - places)).sum())) if checked else 1.0


def hidden_error(values: np.ndarray, checked: int) -> float:
    """Return the largest error of a mean that may hide in the queries that were not checked, with a chance of 1 %.

    ``values`` are the claimed ones of all queries. None can be too high by more than itself, so the worst forgery is in the
    highest of them.
    """
    ordered = np.sort(values)[::-1]
    wrong = 0
    while wrong < len(ordered) - checked and chance_to_miss(len(ordered), checked, wrong + 1) > 1 - SURE:
        wrong += 1
    return float(ordered[:wrong].sum() / len(ordered))


def queries_needed(values: np.ndarray, margin: float) -> int:
    """Return the least number of checked queries with which no error of a margin is hidden."""
    low, high = 1, len(values)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if hidden_error(values, middle) < margin else (middle + 1, high)
    return low
