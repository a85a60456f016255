"""The search of weights is exact: brute force over every document agrees, ties included, whatever the segments."""

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beirflow.families.sparse import files
from beirflow.families.sparse.files import Rows, segments_of
from beirflow.families.sparse.search import search_segments
from beirflow.ranking.ranking import Cut, Ties, byte_order
from tiny_sparse import random_rows

Found = list[list[tuple[str, float]]]
NOTHING = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)


def texts_of(rows: Rows) -> list[dict[int, float]]:
    bounds = zip(rows.starts[:-1], rows.starts[1:], strict=True)
    return [dict(zip(rows.terms[a:b].tolist(), rows.weights[a:b].tolist(), strict=True)) for a, b in bounds]


def plainly(queries: Rows, documents: Rows, ids: list[str], k: int, excluded: Sequence[Sequence[int]], ties: Ties) -> Found:
    """Every score by itself, in Python's floats; then sorted."""
    found = []
    for number, query in enumerate(texts_of(queries)):
        hits = []
        for row, text in enumerate(texts_of(documents)):
            products = [text[term] * weight for term, weight in query.items() if term in text]
            total = 0.0
            for product in products:  # one after the other: sum() adds more precisely
                total += product
            if products and row not in excluded[number]:
                hits.append((ids[row], float(np.float32(total))))
        hits.sort(key=lambda hit: hit[0].encode(), reverse=ties == "descending")
        found.append(sorted(hits, key=lambda hit: -hit[1])[:k])
    return found


def searched(
    queries: Rows,
    documents: Rows,
    ids: list[str],
    k: int,
    excluded: Sequence[Sequence[int]],
    ties: Ties,
    size: int,
) -> Found:
    cut = Cut(k, byte_order(pa.array(ids), ties), np.array(excluded))
    with patch.object(files, "SEGMENT_DOCUMENTS", size):
        (query, row, score), _ = search_segments(queries, segments_of([documents]), cut)
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
    texts, queries = random_rows(seed, documents, 12, weights, 0.3), random_rows(seed + 1, 9, 12, weights, 0.4)
    ids = [f"d{number * 7 % 41}" for number in range(documents)]
    excluded = np.random.default_rng(seed).integers(-1, documents, (len(queries.counts), 1 + seed % 3)).tolist()
    assert searched(queries, texts, ids, k, excluded, ties, size) == plainly(queries, texts, ids, k, excluded, ties)


def test_segments_change_nothing() -> None:
    texts, queries = random_rows(0, 300, 30, [1, 2, 3], 0.3), random_rows(1, 80, 30, [1, 2], 0.3)
    asked = queries, texts, [f"{number:03}" for number in range(300)], 10, [[-1]] * 80
    expected = plainly(*asked, "descending")
    for size in (300, 17):
        assert searched(*asked, "descending", size) == expected


def test_excluded_documents_are_counted_where_they_have_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SEGMENT_DOCUMENTS", 2)
    texts = Rows.of(3, np.array([0, 1]), np.array([5, 6]), np.ones(2, np.float32))
    queries = Rows.of(3, np.array([0, 1, 2]), np.array([5, 5, 6]), np.ones(3, np.float32))
    cut = Cut(5, np.arange(3), np.array([0, 2, -1]))
    (query, row, _), left_out = search_segments(queries, segments_of([texts]), cut)
    assert len(left_out[0]) == 1
    assert list(zip(query.tolist(), row.tolist(), strict=True)) == [(1, 0), (2, 1)]


def test_nothing_is_found_in_nothing() -> None:
    query = Rows.of(2, np.array([0]), np.array([5]), np.ones(1, np.float32))
    segments = [segment for documents in (3, 0) for segment in segments_of([Rows.of(documents, *NOTHING)])]
    for queries, searched in ((query, segments), (query, []), (Rows.of(0, *NOTHING), segments)):
        cut = Cut(5, np.arange(3), np.full(len(queries.counts), -1))
        (found, row, score), left_out = search_segments(queries, searched, cut)
        assert (len(found), len(row), len(score), len(left_out[0])) == (0, 0, 0, 0)
        assert (found.dtype, row.dtype, score.dtype) == (np.int32, np.int32, np.float32)
