"""Search of one chunk is exact, ties at the cut included, and depends on the vectors alone."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from beirflow.core.errors import DataError
from beirflow.families.dense import chunk, top_k
from beirflow.families.dense.chunk import Chunk, Sizes
from beirflow.ranking import ranking, shortlist
from beirflow.ranking.ranking import Cut, byte_order
from beirflow.run.devices import multiply
from beirflow.run.threads import Threads
from listening import heard, short_of_memory
from pairs import pairs
from processors import AMD, processor_of

CPU = torch.device("cpu")
Hits = list[tuple[int, int, float]]


@pytest.fixture(autouse=True)
def _few_threads() -> None:
    torch.set_num_threads(2)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the sizes of blocks, in their order: queries, documents, documents for few queries, pairs."""
    return lambda *sizes: monkeypatch.setitem(chunk.SIZES, "cpu", Sizes(*sizes))


@pytest.fixture(autouse=True, params=[1, 1000])
def _queries_whose_documents_are_in_float64(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All documents of a block, or those that a pair needs."""
    monkeypatch.setattr(chunk, "MANY_QUERIES", request.param)


def random_vectors(kind: str, count: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    """float32 vectors; small whole numbers have many equal scores, and no rounding in any order of summation."""
    rng = np.random.default_rng((seed, count, dim))
    if kind == "normal":
        return rng.standard_normal((count, dim)).astype(np.float32)
    if kind == "whole":
        return rng.integers(-2, 3, (count, dim)).astype(np.float32)
    if kind == "duplicates":
        return rng.standard_normal((5, dim)).astype(np.float32)[rng.integers(0, 5, count)]
    return np.ones((count, dim), np.float32)


def ids_for(count: int, seed: int = 0) -> list[str]:
    return [f"d{number}" for number in np.random.default_rng(seed).permutation(count)]


def exact(vectors: tuple[np.ndarray, np.ndarray], ids: Sequence[str], k: int, **options: Any) -> Hits:
    queries, documents = vectors
    cut = Cut(k, byte_order(pa.array(ids, pa.string())), options.pop("excluded", np.full(len(queries), -1)))
    found = top_k.exact_top_k(queries, documents, cut, **{"similarity": "dot", "device": CPU} | options)
    assert [column.dtype for column in found] == [np.int32, np.int32, np.float32]
    return list(zip(*(column.tolist() for column in found), strict=True))


def brute_force(vectors: tuple[np.ndarray, np.ndarray], ids: Sequence[str], k: int, **options: Any) -> Hits:
    """Every score in float64, rounded to float32, sorted as the rule reads."""
    queries, documents = (array.astype(np.float64) for array in vectors)
    if options.get("similarity") == "cosine":
        queries, documents = (unit_length(array) for array in (queries, documents))
    scores = (queries @ documents.T).astype(np.float32).tolist()
    excluded = np.c_[options.get("excluded", np.full(len(queries), -1))].tolist()
    names = [name.encode() for name in ids]
    hits: Hits = []
    for query, own in enumerate(excluded):
        rows = sorted(set(range(len(names))) - set(own), key=lambda row: (scores[query][row], names[row]), reverse=True)
        hits += [(query, row, scores[query][row]) for row in rows[:k]]
    return hits


def unit_length(vectors: np.ndarray) -> np.ndarray:
    norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("sample", "k", "kind"), pairs([1, 60, 2048], [1, 10, 50, 199, 200, 1000], ["normal", "whole", "duplicates", "equal"])
)
def test_the_top_k_is_that_of_brute_force(monkeypatch: pytest.MonkeyPatch, kind: str, k: int, sample: int) -> None:
    monkeypatch.setattr(top_k, "SMALLEST_SAMPLE", sample)
    vectors = random_vectors(kind, 7, seed=1), random_vectors(kind, 200)
    assert exact(vectors, ids_for(200), k) == brute_force(vectors, ids_for(200), k)


@pytest.mark.parametrize("kind", ["normal", "whole", "duplicates", "equal"])
def test_the_top_k_is_that_of_brute_force_where_onednn_multiplies(kind: str) -> None:
    vectors = random_vectors(kind, 70, seed=1), random_vectors(kind, 200)
    with processor_of(AMD) as products:
        assert exact(vectors, ids_for(200), 10) == brute_force(vectors, ids_for(200), 10)
    assert products


@pytest.mark.parametrize(("count", "queries", "similarity"), pairs([0, 1, 2], [0, 1, 3], ["dot", "cosine"]))
def test_small_chunks_are_searched_too(count: int, queries: int, similarity: str) -> None:
    vectors = random_vectors("whole", queries, seed=2), random_vectors("whole", count)
    found = exact(vectors, ids_for(count), 2, similarity=similarity)
    assert found == brute_force(vectors, ids_for(count), 2, similarity=similarity)
    assert len(found) == queries * count


def test_the_cosine_ignores_lengths_however_small_and_is_zero_for_zero_vectors() -> None:
    documents = random_vectors("normal", 60)
    documents[40:50] = documents[:10] * 4
    documents[50:] = 0
    queries = np.concatenate([random_vectors("normal", 4, seed=1), np.zeros((1, 8), np.float32)])
    found = exact((queries, documents), ids_for(60), 60, similarity="cosine")
    assert found == brute_force((queries, documents), ids_for(60), 60, similarity="cosine")
    score = {(query, row): value for query, row, value in found}
    assert all(score[query, row] == score[query, row + 40] != 0 for query in range(4) for row in range(10))
    assert {value for (query, row), value in score.items() if query == 4 or row >= 50} == {0.0}
    tiny = np.array([[1e-32, 0], [0.5, 0.5]], np.float32)
    found = exact((np.array([[1, 0]], np.float32), tiny), ["a", "b"], 2, similarity="cosine")
    assert found == [(0, 0, 1.0), (0, 1, float(np.float32(0.5**0.5)))]


@pytest.mark.parametrize("kind", ["normal", "duplicates", "equal"])
def test_an_excluded_row_leaves_its_place_to_the_next(blocks: Callable[..., None], kind: str) -> None:
    blocks(4, 30, 30, 7)
    documents, ids = random_vectors(kind, 100), ids_for(100)
    query = random_vectors("normal", 1, seed=1)
    ranking = [row for _, row, _ in brute_force((query, documents), ids, 100)]
    excluded = np.array([-1, ranking[0], ranking[4], ranking[5], ranking[99], 0, 29, 30, 99])
    vectors = np.repeat(query, len(excluded), axis=0), documents
    found = exact(vectors, ids, 5, excluded=excluded)
    assert found == brute_force(vectors, ids, 5, excluded=excluded)
    assert not {(number, own) for number, own in enumerate(excluded)} & {(number, row) for number, row, _ in found}
    many = np.stack([np.roll(ranking, -start)[:60] for start in (0, 3, 20)])
    some = vectors[0][:3], documents
    assert exact(some, ids, 45, excluded=many) == brute_force(some, ids, 45, excluded=many)
    assert exact((np.ones((1, 4), np.float32),) * 2, ["d"], 3, excluded=np.array([0])) == []


@pytest.mark.parametrize("kind", ["normal", "duplicates", "equal"])
def test_results_depend_on_no_block_and_no_thread(blocks: Callable[..., None], kind: str) -> None:
    vectors, ids = (random_vectors(kind, 20, 33, seed=1), random_vectors(kind, 80, 33)), ids_for(80)
    expected = exact(vectors, ids, 10)
    for documents, queries, threads in [(1, 512, 1), (7, 3, 2), (79, 1, 1), (80, 20, 2), (81, 19, 1)]:
        blocks(queries, documents, documents + threads, 1 + documents % 5)
        torch.set_num_threads(threads)
        assert exact(vectors, ids, 10) == expected


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_where_memory_runs_out_blocks_are_halved_and_hits_stay(
    blocks: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    blocks(16, 128, 128, 7)
    vectors, ids = (random_vectors("normal", 20, seed=1), random_vectors("normal", 500)), ids_for(500)
    expected, most = exact(vectors, ids, 10), 300

    def is_too_much(look: top_k._Look, queries: slice) -> bool:
        return len(look.chunk.queries[queries]) * len(look.block.vectors) > most

    short_of_memory(monkeypatch, top_k._Look, "at", is_too_much, error)
    assert exact(vectors, ids, 10) == expected
    assert "out of memory in a search; continuing with blocks of 1/4 of their size" in caplog.messages
    most = 0
    with pytest.raises(error, match="allocate memory"):
        exact(vectors, ids, 10)


def test_excluded_rows_stay_excluded_where_memory_runs_out_behind_the_first_block(
    blocks: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks(16, 128, 128, 7)
    vectors, ids = (random_vectors("normal", 3, seed=1), random_vectors("normal", 500)), ids_for(500)
    excluded, look, failed = np.random.default_rng(0).integers(0, 500, (3, 100)), top_k._Look.at, list[int]()

    def failing_once(self: top_k._Look, queries: slice) -> None:
        look(self, queries)
        if self.block.start and not failed:
            failed.append(self.block.start)
            raise torch.OutOfMemoryError

    monkeypatch.setattr(top_k._Look, "at", failing_once)
    assert exact(vectors, ids, 450, excluded=excluded) == brute_force(vectors, ids, 450, excluded=excluded)
    assert failed


@pytest.mark.parametrize("dim", [1, 3, 17, 384, 768])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_equal_vectors_have_equal_scores_wherever_they_stand(dim: int, similarity: str) -> None:
    documents = random_vectors("normal", 300, dim)
    copies = [0, 1, 150, 298, 299]
    documents[copies] = documents[0]
    query = random_vectors("normal", 1, dim, seed=1)
    score = {row: value for _, row, value in exact((query, documents), ids_for(300), 300, similarity=similarity)}
    [(_, _, alone)] = exact((query, documents[:1]), ["d"], 1, similarity=similarity)
    assert {score[row] for row in copies} == {alone}


def test_scores_that_a_product_in_float32_confuses_are_ranked_exactly() -> None:
    rng = np.random.default_rng(5)
    halves = rng.integers(2**18, 2**20, (400, 32)).astype(np.float32)
    documents = np.concatenate([halves, -halves, rng.integers(-40, 40, (400, 1)) / 64], axis=1).astype(np.float32)
    documents = documents[:, rng.permutation(65)]
    query = np.full((1, 65), 1 + 2.0**-12, np.float32)  # its products with the documents do not fit into float32
    sums = [math.fsum(float(a) * float(b) for a, b in zip(row, query[0], strict=True)) for row in documents]
    ids = ids_for(400)
    expected = sorted(range(400), key=lambda row: (np.float32(sums[row]), ids[row].encode()), reverse=True)
    naive = documents @ query[0]
    assert sorted(range(400), key=lambda row: (naive[row], ids[row].encode()), reverse=True)[:10] != expected[:10]
    assert exact((query, documents), ids, 10) == [(0, row, float(np.float32(sums[row]))) for row in expected[:10]]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("whose", "row"), [("queries", 2), ("documents", 45)])
def test_vectors_that_are_not_finite_are_an_error_that_says_so(
    blocks: Callable[..., None], similarity: str, value: float, whose: str, row: int
) -> None:
    blocks(4, 30, 30, 7)
    vectors = {"queries": random_vectors("normal", 5, seed=1), "documents": random_vectors("normal", 70)}
    vectors[whose][row, 3] = value
    with pytest.raises(DataError, match=f"the {whose}' vectors hold infinity or not-a-number, first in row {row}; encode"):
        exact((vectors["queries"], vectors["documents"]), ids_for(70), 3, similarity=similarity)


@pytest.mark.parametrize(("queries", "documents"), [([[2, 5]], [[3e38, 0], [3e38, 1]]), ([[1, 1]], [[1e20, 0]])])
def test_dot_products_that_overflow_are_an_error(queries: list[list[float]], documents: list[list[float]]) -> None:
    vectors = np.array(queries, np.float32), np.array(documents, np.float32)
    with pytest.raises(DataError, match="overflow float32"):
        exact(vectors, ids_for(len(documents)), 2)


@pytest.mark.parametrize(
    ("scales", "near"), pairs([(1e18, 1e-30), (1e-22, 1e-22), (1e-30, 1e18), (1e-19, 1e-19), (1, 1e-44)], [False, True])
)
def test_numbers_at_the_lower_end_of_float32_lose_no_document(scales: tuple[float, float], near: bool) -> None:
    """Squares or products below the smallest number of float32 count as 0 in the fast pass."""
    queries, documents = random_vectors("normal", 5, 32, seed=1), random_vectors("normal", 400, 32)
    if near:
        documents = documents[:1] * (1 + random_vectors("whole", 400, 32) * np.float32(2.0**-22))
    vectors = queries * np.float32(scales[0]), documents * np.float32(scales[1])
    assert exact(vectors, ids_for(400), 10) == brute_force(vectors, ids_for(400), 10)


class Read:
    """Documents that note how many are read at once."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors, self.shape, self.most = vectors, vectors.shape, 0

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: slice) -> np.ndarray:
        self.most = max(self.most, len(self.vectors[rows]))
        return self.vectors[rows]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_less_is_computed_at_once_where_vectors_have_more_dimensions(monkeypatch: pytest.MonkeyPatch, similarity: str) -> None:
    monkeypatch.setattr(chunk, "BLOCK_BYTES", 30 * 8 * chunk.DOCUMENT_BYTES)
    monkeypatch.setattr(top_k, "PAIRS_BYTES", 12 * 8 * top_k.PAIR_BYTES)
    for dim, documents in [(8, 30), (16, 15), (100, 2), (1000, 1)]:
        vectors = random_vectors("normal", 3, dim, seed=1), random_vectors("normal", 60, dim)
        read = Read(vectors[1])
        found = exact((vectors[0], read), ids_for(60), 5, similarity=similarity)  # type: ignore[arg-type]
        assert read.most == documents
        assert found == brute_force(vectors, ids_for(60), 5, similarity=similarity)


@pytest.mark.parametrize("most", [100, 1 << 22])
def test_where_all_scores_tie_few_are_kept_at_a_time(
    blocks: Callable[..., None], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    blocks(64, 100, 100, 512)
    monkeypatch.setattr(top_k, "MOST_PAIRS", most)
    monkeypatch.setattr(shortlist, "MERGED_QUERIES", 1)
    merged = heard(monkeypatch, ranking, "merge_hits", lambda parts, *_: sum(len(part[0]) for part in parts))
    vectors = random_vectors("equal", 64), random_vectors("equal", 400)
    assert exact(vectors, ids_for(400), 5) == brute_force(vectors, ids_for(400), 5)
    assert max(merged) == min(most, 32 * 100)
    assert max(merged[-64:]) <= (1 + shortlist.ROOM) * 5


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The queries of every pass over the chunk."""
    return heard(monkeypatch, top_k, "_search", lambda chunk, which, _: which.tolist())


def test_where_the_sample_has_all_the_best_the_guess_is_too_high_and_made_up_for(
    monkeypatch: pytest.MonkeyPatch, passes: list[list[int]]
) -> None:
    monkeypatch.setattr(top_k, "SMALLEST_SAMPLE", 131)
    queries, documents = np.eye(3, 8, dtype=np.float32), random_vectors("normal", 2000)
    width = 4  # of the sample's slices, 131 + 2000 // 16 documents together
    for start in np.linspace(0, 2000 - width, shortlist.SLICES).astype(int)[:11]:
        documents[start : start + width] += 3 * queries[1]
    vectors, excluded = (queries, documents), np.array([-1, 5, 1999])
    assert exact(vectors, ids_for(2000), 50, excluded=excluded) == brute_force(vectors, ids_for(2000), 50, excluded=excluded)
    assert passes == [[0, 1, 2], [1]]


def test_an_exception_in_a_thread_is_raised_and_torch_has_as_many_threads_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_k._Look, "at", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        exact((random_vectors("normal", 3), random_vectors("normal", 20)), ids_for(20), 2)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("dim", "sizes", "positive"),
    pairs([1, 5, 384, 2000], [(1, 1), (1e4, 1e-3), (1e-20, 1e-20), (1e-38, 1), (1, 1e-44), (1e15, 1e15)], [False, True]),
)
def test_fast_scores_lie_within_their_bounds(dim: int, sizes: tuple[float, float], positive: bool) -> None:
    queries, documents = (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * np.float32(size)
        for vectors, size in zip((random_vectors("normal", 50, dim, seed) for seed in (0, 1)), sizes, strict=True)
    )
    if positive:
        queries, documents = np.abs(queries), np.abs(documents)
    with Threads(CPU) as threads:
        chunk = Chunk(torch.from_numpy(queries), documents, np.full((50, 1), -1), "dot", threads)
        [block] = chunk.blocks()
        bounds = top_k._error_bounds(chunk, block.longest)
    exact_products = queries.astype(np.float64) @ documents.astype(np.float64).T
    with processor_of(AMD):
        by_onednn = multiply(torch.from_numpy(queries), torch.from_numpy(documents)).numpy()
    for fast in (queries @ documents.T, by_onednn):
        assert (np.abs(fast - exact_products).max(axis=1) <= bounds.numpy()).all()


class Summed(TorchDispatchMode):
    """Notes the shapes of what is summed in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.ops.aten.sum.dim_IntList and args[0].dtype == torch.float64:
            self.shapes.append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))


def scores_of(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Scores of all pairs."""
    query, row = (torch.from_numpy(part) for part in np.divmod(np.arange(len(queries) * len(documents)), len(documents)))
    with Threads(CPU) as threads:
        chunk = Chunk(torch.from_numpy(queries), documents, np.full((len(queries), 1), -1), "dot", threads)
        [block] = chunk.blocks()
        return top_k.exact_scores(chunk, block, query, row).reshape(len(queries), -1)


def between(rng: np.random.Generator, count: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose dot products lie between two neighbours in float32, or one of their last bits in float64 beside that."""
    documents = rng.integers(-8, 9, (count, dim)).astype(np.float32)
    documents[:, -3:] = [2.0**20, 2.0**-4, 0]
    documents[:, -1] = rng.choice([-1, 0, 1], count) * 2.0**-33
    return np.ones((3, dim), np.float32), documents[:, rng.permutation(dim)]


def vectors_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Queries and 300 documents."""
    queries, documents = (random_vectors("normal", count, 48) for count in (5, 300))
    if kind == "between":
        return between(np.random.default_rng(7), 300, 48)
    if kind == "cancelling":
        return np.concatenate([queries, queries], axis=1), np.concatenate([documents, -documents], axis=1)
    if kind == "zeros":
        documents[::2] = 0
    return queries, documents


@pytest.mark.parametrize("scale", [1.0, 1e-18, 1e-25])
@pytest.mark.parametrize("kind", ["normal", "between", "cancelling", "zeros"])
def test_scores_are_those_of_the_careful_sum_in_every_bit(monkeypatch: pytest.MonkeyPatch, kind: str, scale: float) -> None:
    """Also where the first sum is as wrong as it may be, in one direction or the other."""
    queries, documents = (vectors * np.float32(scale) for vectors in vectors_of(kind))
    pairs = [torch.from_numpy(part) for part in np.divmod(np.arange(len(queries) * 300), 300)]
    careful = top_k.careful_scores(torch.from_numpy(queries), torch.from_numpy(documents), *pairs)
    expected = careful.reshape(len(queries), 300).numpy()
    np.testing.assert_array_equal(scores_of(queries, documents), expected)
    original = torch.sparse.sampled_addmm
    most = queries.shape[1] * 2.0**-53 * np.linalg.norm(queries.astype(float), axis=1)[:, None]
    far = torch.from_numpy(most * np.linalg.norm(documents.astype(float), axis=1)).reshape(-1)
    for direction in (-1, 1):

        def wrong(*arguments: Any, direction: int = direction, **options: Any) -> Any:
            sums = original(*arguments, **options)
            sums.values().add_(direction * far)
            return sums

        monkeypatch.setattr(torch.sparse, "sampled_addmm", wrong)
        np.testing.assert_array_equal(scores_of(queries, documents), expected)


def test_the_careful_sum_is_rarely_needed_and_always_of_equally_many(blocks: Callable[..., None]) -> None:
    blocks(512, 1000, 1000, 64)
    queries, documents = random_vectors("normal", 20, 384), random_vectors("normal", 1000, 384)
    with Summed() as summed:
        scores_of(queries, documents)
    assert len(summed.shapes) <= 1 + 20 * 1000 / 64 / 100
    with Summed() as summed:
        scores_of(*between(np.random.default_rng(3), 300, 384))
    assert len(summed.shapes) > 1
    assert set(summed.shapes) == {(64, 384)}
