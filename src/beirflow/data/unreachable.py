"""Relevant documents that no system can find, because they leave every ranking beforehand."""

import unicodedata
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.losses import LEFT_OUT, MISSING, NO_CANDIDATE, OWN_ID, RELEVANT
from beirflow.data.corpus_files import relevant_from
from beirflow.data.sources.forms import CANDIDATES, EXCLUDED

IDS_AT_ONCE = 1 << 16  # of a corpus that are Python strings at a time

SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "white space at its ends": str.strip,
    "the form of Unicode": lambda text: unicodedata.normalize("NFC", text),
    "zeros in front": lambda text: text.lstrip("0"),
    "capital letters": str.lower,
}
"""Differences between ids that are hard to see, with what removes each."""


def relevant_rows(qrels: pa.Table) -> np.ndarray:
    """Return the rows of the judgements of relevant documents, ascending int64."""
    return np.flatnonzero(pc.greater_equal(qrels["score"], relevant_from(qrels)).to_numpy())


def in_corpus(named: pa.Array, doc_ids: pa.Array) -> pa.Array:
    """Test which of n ids that judgements or queries name are those of documents; boolean."""
    # The many ids of a corpus are looked up in the few that are named.
    known = doc_ids.filter(pc.is_in(doc_ids, value_set=pc.unique(named).cast(doc_ids.type)))
    return pc.is_in(named, value_set=known.cast(named.type))


def unreachable(qrels: pa.Table, queries: pa.Table, doc_ids: pa.Array) -> dict[str, np.ndarray]:
    """Return, by kind in ``losses.KINDS``, the rows of the judgements of relevant documents that no system can find.

    ``queries`` has ``query_id`` and, where queries state them, ``excluded_ids`` and ``candidate_ids``; kinds without a row are
    left out.
    """
    rows = relevant_rows(qrels)
    relevant = qrels.take(pa.array(rows))
    named = relevant["doc_id"].combine_chunks()
    pairs = list(zip(relevant["query_id"].to_pylist(), named.to_pylist(), strict=True))
    excluded, candidates = (_pairs_of(queries, column, relevant) for column in (EXCLUDED, CANDIDATES))
    tests = {
        MISSING: pc.invert(in_corpus(named, doc_ids)).to_numpy(zero_copy_only=False),
        LEFT_OUT: np.array([pair in excluded for pair in pairs], bool),
        NO_CANDIDATE: np.array([CANDIDATES in queries.column_names and pair not in candidates for pair in pairs], bool),
        OWN_ID: np.array([query_id == doc_id for query_id, doc_id in pairs], bool),
    }
    found, left = {}, np.ones(len(rows), bool)
    for kind, is_so in tests.items():
        if (here := is_so & left).any():
            found[kind] = rows[here]
        left &= ~is_so
    return found


def _pairs_of(queries: pa.Table, column: str, relevant: pa.Table) -> set[tuple[str, str]]:
    """Return the pairs of a query and a document that a column of lists names, of queries with relevant documents."""
    if column not in queries.column_names:
        return set()
    with_lists = queries.filter(pc.is_in(queries["query_id"], value_set=pc.unique(relevant["query_id"])))
    lists = zip(with_lists["query_id"].to_pylist(), with_lists[column].to_pylist(), strict=True)
    return {(query_id, doc_id) for query_id, doc_ids in lists for doc_id in doc_ids}


def counts_of(qrels: pa.Table, found: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return the counts for the record of a corpus: relevant documents, and each kind that no system can find; else none."""
    relevant = len(relevant_rows(qrels))
    return {RELEVANT: relevant, **{kind: len(rows) for kind, rows in found.items()}} if found or not relevant else {}


def spelled_otherwise(doc_id: str, doc_ids: pa.Array) -> str:
    """Name an id of the corpus that differs from one that it lacks by what is hard to see; empty without any.

    Both are written with escapes, so that the difference shows.
    """

    def plain(text: str) -> str:
        """Apply all changes of spelling to a text."""
        return reduce(lambda changed, change: change(changed), SPELLINGS.values(), text)

    wanted = plain(doc_id)
    parts = (doc_ids.slice(start, IDS_AT_ONCE).to_pylist() for start in range(0, len(doc_ids), IDS_AT_ONCE))
    other = next((each for part in parts for each in part if plain(each) == wanted), None)
    if other is None:
        return ""
    alone = next((name for name, change in SPELLINGS.items() if change(doc_id) == change(other)), "spelling")
    return f"the corpus has {other!a}, which differs from {doc_id!a} only in {alone}"
