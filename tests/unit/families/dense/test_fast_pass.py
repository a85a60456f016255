"""Fast scores lie within their bounds, and are computed in bfloat16 where that saves time."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from beirflow.families.dense import chunk_blocks, fast_pass
from beirflow.families.dense.chunk_blocks import Blocks, Chunk
from beirflow.run.threads import Threads
from listening import heard
from pairs import pairs

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _processor_with_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_pass, "choose_precision", lambda *_: torch.bfloat16)


@pytest.fixture
def threads() -> Iterator[Threads]:
    with Threads(CPU) as threads:
        yield threads


def unit_vectors(count: int, dim: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng((seed, count, dim)).standard_normal((count, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def chunk_of(queries: np.ndarray, documents: np.ndarray, threads: Threads, dtype: torch.dtype = torch.float32) -> Chunk:
    return Chunk(torch.from_numpy(queries), documents, torch.full((len(queries), 1), -1), "dot", threads, dtype)


@pytest.mark.parametrize(
    ("dtype", "dim", "sizes", "positive"),
    pairs(
        [torch.float32, torch.bfloat16],
        [1, 5, 384, 2000],
        [(1, 1), (1e4, 1e-3), (1e-20, 1e-20), (1e-38, 1), (1, 1e-44), (1e15, 1e15)],
        [False, True],
    ),
)
def test_fast_scores_lie_within_their_bounds(
    threads: Threads, dtype: torch.dtype, dim: int, sizes: tuple[float, float], positive: bool
) -> None:
    queries, documents = (unit_vectors(50, dim, seed) for seed in (0, 1))
    if positive:
        queries, documents = np.abs(queries), np.abs(documents)
    queries, documents = queries * np.float32(sizes[0]), documents * np.float32(sizes[1])
    chunk = chunk_of(queries, documents, threads, dtype)
    [block] = chunk.blocks()
    exact = torch.from_numpy(queries.astype(np.float64) @ documents.astype(np.float64).T)
    fast = chunk.scores(slice(0, 50), 0, block.fast)
    for document in range(50):
        bounds = fast_pass._error_bounds(chunk, block.norms.max(), block.rounded, fast[:, document])
        assert bool(((fast - exact)[:, document].abs() <= bounds).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_dot_product_that_may_overflow_has_no_bound(threads: Threads, dtype: torch.dtype) -> None:
    """Also where rounding changes nothing: what overflows may be not-a-number, which is no candidate."""
    huge = np.full((2, 4), 1.75 * 2.0**62, np.float32)
    chunk = chunk_of(huge, huge, threads, dtype)
    [block] = chunk.blocks()
    bounds = fast_pass._error_bounds(chunk, block.norms.max(), block.rounded, torch.zeros(2))
    assert not bool(bounds.isfinite().any())


def test_the_bound_of_bfloat16_is_no_wider_than_ten_times_the_errors(threads: Threads) -> None:
    chunk = chunk_of(unit_vectors(64, 384), unit_vectors(5000, 384, 1), threads, torch.bfloat16)
    [block] = chunk.blocks()
    exact = chunk.queries.double() @ block.vectors.double().T
    fast = chunk.scores(slice(0, 64), 0, block.fast)
    bounds = fast_pass._error_bounds(chunk, block.norms.max(), block.rounded, fast.amax(dim=1))
    assert float(bounds.max()) < 10 * float((fast - exact).abs().max())


@pytest.mark.parametrize(
    ("queries", "nearness", "dtype", "expected"),
    [
        (300, 0.0, torch.bfloat16, True),
        (fast_pass.FEWEST_QUERIES - 1, 0.0, torch.bfloat16, False),
        (300, 30.0, torch.bfloat16, False),
        (300, 0.0, torch.float32, False),
    ],
    ids=["many queries", "few queries", "near the cut", "no instructions"],
)
def test_bfloat16_is_used_for_many_queries_where_few_documents_are_near_the_cut(
    threads: Threads, monkeypatch: pytest.MonkeyPatch, queries: int, nearness: float, dtype: torch.dtype, expected: bool
) -> None:
    """Documents that have almost everything in common have scores that bfloat16 hardly tells apart."""
    monkeypatch.setattr(fast_pass, "choose_precision", lambda *_: dtype)
    documents = unit_vectors(30_000, 64, 1)
    documents[:, 0] += np.float32(nearness)
    chunk = chunk_of(unit_vectors(queries, 64), documents, threads)
    room = fast_pass._room_in_bfloat16(chunk, fast_pass._sample(chunk), 200)
    assert (room is not None) == expected
    assert room is None or 200 + fast_pass.SPARE < room <= 2 * (200 + fast_pass.SPARE)


def test_queries_with_too_many_candidates_in_bfloat16_have_those_of_float32(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the queries rank documents whose scores differ by less than bfloat16 tells apart."""
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", Blocks(64, 64, 2000, 500, 64))
    monkeypatch.setattr(fast_pass, "_room_in_bfloat16", lambda *_: 50 + fast_pass.SPARE)
    queries, documents = np.zeros((300, 4), np.float32), np.zeros((20_000, 4), np.float32)
    queries[::2, 0], queries[1::2, 1] = 1, 1
    documents[:, 0] = np.maximum(0, 256 - np.random.default_rng(0).permutation(20_000)) / 64
    documents[:, 1] = 1 + np.random.default_rng(1).permutation(20_000) * 1e-6
    chunk = chunk_of(queries, documents, threads)
    made = heard(monkeypatch, fast_pass, "_search", lambda some, *_: (some.dtype, len(some.queries)))
    found = fast_pass.find_candidates(chunk, 50)
    assert made == [(torch.bfloat16, 300), (torch.float32, 150)]
    assert not len(found.crowded)
    assert bool((found.query.diff() >= 0).all())
    for query in range(300):
        best = set(np.argsort(-documents[:, query % 2])[:50].tolist())
        assert best <= set(found.row[found.query == query].tolist())


def test_queries_that_even_float32_does_not_tell_apart_are_named(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_pass, "_room_in_bfloat16", lambda *_: 50 + fast_pass.SPARE)
    queries, documents = np.zeros((300, 4), np.float32), np.ones((5000, 4), np.float32)
    queries[:, 0] = 1
    queries[7::100] = [0, 1, 0, 0]
    documents[:, 0] = np.maximum(0, 256 - np.arange(5000)) / 64
    found = fast_pass.find_candidates(chunk_of(queries, documents, threads), 50)
    assert found.crowded.tolist() == [7, 107, 207]
    assert not bool(torch.isin(found.query, found.crowded).any())
