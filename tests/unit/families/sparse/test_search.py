"""The search of weights is exact: brute force over every document agrees, ties included, whatever the segments and threads."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beirflow.families.postings import search as lists_search
from beirflow.families.sparse import files
from beirflow.families.sparse.files import Rows, Segment
from beirflow.families.sparse.search import search_segments
from beirflow.ranking.ranking import Cut, Ties, byte_order

Found = list[list[tuple[str, float]]]


def random_rows(seed: int, texts: int, terms: int, weights: list[float], share: float = 0.3) -> Rows:
    random = np.random.default_rng(seed)
    text, term = (random.random((texts, terms)) < share).nonzero()
    return Rows.of(texts, text, term, random.choice(weights, len(text)).astype(np.float32))


def segments_of(rows: Rows, size: int) -> list[Segment]:
    found = []
    for first in range(0, len(rows.counts), size):
        part = slice(rows.starts[first], rows.starts[min(first + size, len(rows.counts))])
        found.append(files._inverted(Rows(rows.counts[first : first + size], rows.terms[part], rows.weights[part])))
    return found


def plainly(queries: Rows, documents: Rows, ids: list[str], k: int, excluded: list[int], ties: Ties) -> Found:
    """Every score by itself, in Python's floats; then sorted."""
    texts = [
        dict(zip(documents.terms[a:b].tolist(), documents.weights[a:b].tolist(), strict=True))
        for a, b in zip(documents.starts[:-1], documents.starts[1:], strict=True)
    ]
    found = []
    for number, (a, b) in enumerate(zip(queries.starts[:-1], queries.starts[1:], strict=True)):
        query = list(zip(queries.terms[a:b].tolist(), queries.weights[a:b].tolist(), strict=True))
        hits = []
        for row, text in enumerate(texts):
            products = [text[term] * weight for term, weight in query if term in text]
            total = 0.0
            for product in products:  # one after the other: sum() adds more precisely
                total += product
            if products and row not in np.atleast_1d(excluded[number]):
                hits.append((ids[row], float(np.float32(total))))
        hits.sort(key=lambda hit: hit[0].encode(), reverse=ties == "descending")
        found.append(sorted(hits, key=lambda hit: -hit[1])[:k])
    return found


def searched(
    queries: Rows, documents: Rows, ids: list[str], k: int, excluded: list[int], ties: Ties, size: int, threads: int = 1
) -> Found:
    segments = segments_of(documents, size)
    cut = Cut(k, byte_order(pa.array(ids), ties), np.array(excluded))
    (query, row, score), _ = search_segments(queries, segments, cut, threads)
    found: Found = [[] for _ in queries.counts]
    for number, place, value in zip(query.tolist(), row.tolist(), score.tolist(), strict=True):
        found[number].append((ids[place], value))
    return found


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    documents=st.integers(1, 40),
    k=st.integers(1, 45),
    size=st.integers(1, 41),
    ties=st.sampled_from(["ascending", "descending"]),
    weights=st.sampled_from([[1.0], [1.0, 2.0, 256.0], [0.1, 0.7, 1e-3, 3.3], [1e-30, 1e10]]),
)
def test_brute_force_agrees(seed: int, documents: int, k: int, size: int, ties: Ties, weights: list[float]) -> None:
    texts, queries = random_rows(seed, documents, 12, weights), random_rows(seed + 1, 9, 12, weights, 0.4)
    ids = [f"d{number * 7 % 41}" for number in range(documents)]
    random = np.random.default_rng(seed)
    excluded = random.integers(-1, documents, (len(queries.counts), 1 + seed % 3)).tolist()
    assert searched(queries, texts, ids, k, excluded, ties, size) == plainly(queries, texts, ids, k, excluded, ties)


def test_segments_slices_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, queries = random_rows(0, 300, 30, [1, 2, 3]), random_rows(1, 80, 30, [1, 2])
    ids, nothing = [f"{number:03}" for number in range(300)], [-1] * 80
    expected = plainly(queries, texts, ids, 10, nothing, "descending")
    for size, threads in ((300, 1), (17, 3)):
        assert searched(queries, texts, ids, 10, nothing, "descending", size, threads) == expected
    monkeypatch.setattr(lists_search, "SLICE_QUERIES", 1)
    assert searched(queries, texts, ids, 10, nothing, "descending", 17, threads=2) == expected


def test_excluded_documents_are_counted_where_they_have_a_term() -> None:
    texts = Rows.of(3, np.array([0, 1]), np.array([5, 6]), np.ones(2, np.float32))
    queries = Rows.of(3, np.array([0, 1, 2]), np.array([5, 5, 6]), np.ones(3, np.float32))
    cut = Cut(5, np.arange(3), np.array([0, 2, -1]))
    (query, row, _), left_out = search_segments(queries, segments_of(texts, 2), cut)
    assert left_out == 1
    assert list(zip(query.tolist(), row.tolist(), strict=True)) == [(1, 0), (2, 1)]


def test_nothing_is_found_in_nothing() -> None:
    query = Rows.of(2, np.array([0]), np.array([5]), np.ones(1, np.float32))
    nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    segments = [files._inverted(Rows.of(documents, *nothing)) for documents in (3, 0)]
    for queries, searched in ((query, segments), (query, []), (Rows.of(0, *nothing), segments)):
        cut = Cut(5, np.arange(3), np.full(len(queries.counts), -1))
        (found, row, score), left_out = search_segments(queries, searched, cut)
        assert (len(found), len(row), len(score), left_out) == (0, 0, 0, 0)
        assert (found.dtype, row.dtype, score.dtype) == (np.int32, np.int32, np.float32)
