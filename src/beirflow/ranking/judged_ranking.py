"""Runs and judgements as arrays, from which measures are computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.data.corpus_files import relevant_from
from beirflow.ranking.ranking import byte_order, rank

T = TypeVar("T")


@dataclass(frozen=True)
class Ranking:
    """Runs and judgements as arrays: q judged queries in byte order of their ids, the first n ranks.

    Attributes:
        cutoffs: The k of the measures, of which n is the largest.
        qrels: The judgements, whose further columns some measures need.
        query_ids: Ids of the judged queries, length q.
        retrieved: Whether there is a document at a rank, bool of shape (q, n).
        grades: Judgement of the document at a rank, 0 if there is none, int64 of shape (q, n).
        documents: Number of the document at a rank among those that are judged for any query, -1 for others, int32 of shape
            (q, n).
        qrel_query: Number of the query of each judgement, int64 of shape (judgements,).
        qrel_document: Number of its document, int64 of shape (judgements,).
        relevant_from: Grade from which a document is relevant.
        relevant: Number of relevant documents of each query, retrieved or not, int64 of shape (q,).
        ideal: Judgements of each query above 0 in descending order, then zeros, int64 of shape (q, n).
        missed: Number of the query and judgement of every document judged above 0 that is at no rank, int64 of shape (m, 2).
        shared: Results of functions with :func:`once`.
    """

    cutoffs: tuple[int, ...]
    qrels: pa.Table
    query_ids: list[str]
    retrieved: np.ndarray
    grades: np.ndarray
    documents: np.ndarray
    qrel_query: np.ndarray
    qrel_document: np.ndarray
    relevant: np.ndarray
    ideal: np.ndarray
    missed: np.ndarray
    relevant_from: int = 1
    shared: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def is_relevant(self) -> np.ndarray:
        """Relevance of the document at each rank, bool of shape (q, n)."""
        return self.grades >= self.relevant_from

    def hits(self, k: int) -> np.ndarray:
        """Return the number of relevant documents among the first k of each query, int64 of shape (q,)."""
        return self.is_relevant[:, :k].sum(axis=1)


def once(compute: Callable[[Ranking], T]) -> Callable[[Ranking], T]:
    """Decorate what several measures or cutoffs share: of each ranking it is computed once."""

    @wraps(compute)
    def shared(ranking: Ranking) -> T:
        """Return the value of the ranking, computed at the first call."""
        if compute not in ranking.shared:
            ranking.shared[compute] = compute(ranking)
        found: T = ranking.shared[compute]
        return found

    return shared


def make_ranking(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int], *, ranked: bool = False) -> Ranking:
    """Rank the documents of judged queries up to the largest cutoff, and look up their judgements.

    Args:
        run: ``query_id``, ``doc_id`` and ``score`` of the retrieved documents, in any order.
        qrels: ``query_id``, ``doc_id`` and ``score`` of the judgements, and the further columns of ``qrels.parquet`` if there are
            any; metadata may say from which score a document is relevant.
        cutoffs: The k of the measures.
        ranked: The run has a ``rank`` by the ranking rule, from 1 without gaps; else it is ranked here.

    Returns:
        The judged queries with the first ranks of each.
    """
    depth = max(cutoffs)
    query_ids = pc.unique(qrels["query_id"])
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    shape = (len(query_ids), depth)
    run_query, qrel_query = (_number(table["query_id"], query_ids) for table in (run, qrels))
    # Other queries are dropped first: a run may have many.
    of_judged_query = np.flatnonzero(run_query >= 0)
    run = run.take(pa.array(of_judged_query)) if len(of_judged_query) < run.num_rows else run
    run_query = run_query[of_judged_query]
    if ranked:
        kept = np.flatnonzero(run["rank"].to_numpy() <= depth)
        ranks = run["rank"].to_numpy()[kept]
    else:
        scores = run["score"].to_numpy()
        kept, ranks = rank(run_query, scores, lambda tied: byte_order(run["doc_id"].take(tied).combine_chunks()), depth)
    run_query = run_query[kept]

    judged_docs = pc.unique(qrels["doc_id"])
    run_doc, qrel_doc = (_number(table["doc_id"], judged_docs) for table in (run, qrels))
    run_doc = run_doc[kept]
    judgements = qrels["score"].to_numpy().astype(np.int64)
    grades, retrieved, documents = np.zeros(shape, np.int64), np.zeros(shape, bool), np.full(shape, -1, np.int32)
    retrieved[run_query, ranks - 1] = True
    documents[run_query, ranks - 1] = run_doc
    some = np.flatnonzero(run_doc >= 0)
    # A pair of query and document is one number, int64 since a product of two int32 may not fit into one.
    judgement = _find(run_query[some] * len(judged_docs) + run_doc[some], among=qrel_query * len(judged_docs) + qrel_doc)
    some, judgement = some[judgement >= 0], judgement[judgement >= 0]
    grades[run_query[some], ranks[some] - 1] = judgements[judgement]
    positive, relevant = judgements > 0, relevant_from(qrels)
    missed = positive.copy()
    missed[judgement] = False
    return Ranking(
        tuple(cutoffs),
        qrels,
        query_ids.to_pylist(),
        retrieved,
        grades,
        documents,
        qrel_query,
        qrel_doc,
        relevant=np.bincount(qrel_query[judgements >= relevant], minlength=len(query_ids)),
        ideal=_ideal(qrel_query[positive], judgements[positive], shape),
        missed=np.stack([qrel_query[missed], judgements[missed]], axis=1),
        relevant_from=relevant,
    )


def _number(ids: pa.ChunkedArray, among: pa.Array) -> np.ndarray:
    """Return the place of each id among others, -1 if it is not there; int64."""
    return pc.fill_null(pc.index_in(ids, value_set=among), -1).to_numpy().astype(np.int64)


def _find(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the place of each key among others, -1 if it is not there."""
    order = np.argsort(among)
    place = order[np.minimum(np.searchsorted(among[order], keys), len(among) - 1)]
    return np.where(among[place] == keys, place, -1)


def _ideal(query: np.ndarray, grades: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the grades of each query in descending order, cut or filled with zeros to the shape."""
    order = np.lexsort((-grades, query))
    query, grades = query[order], grades[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    ideal = np.zeros(shape, np.int64)
    inside = place < shape[1]
    ideal[query[inside], place[inside]] = grades[inside]
    return ideal
