"""Search of one chunk is exact, ties at the cut included, and depends on the vectors alone."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from beirflow.dense import chunk_blocks, fast_pass
from beirflow.dense import top_k as search
from beirflow.files.errors import DataError
from beirflow.jobs.threads import Threads
from beirflow.runs.ranking import byte_order, merge_hits
from pairs import pairs

CPU = torch.device("cpu")
Hits = list[tuple[int, int, float]]


@pytest.fixture(autouse=True)
def _few_threads() -> None:
    torch.set_num_threads(2)


@pytest.fixture(autouse=True, params=["float32", "bfloat16"])
def dtype(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of fast scores; in bfloat16 even where it takes more time, on any processor."""
    if request.param == "bfloat16":
        monkeypatch.setattr(fast_pass, "_room_in_bfloat16", lambda chunk, _, k: min(len(chunk.documents), k + fast_pass.SPARE))
    else:
        monkeypatch.setattr(fast_pass, "choose_precision", lambda *_: torch.float32)
    return str(request.param)


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
    settings = {"similarity": "dot", "excluded": np.full(len(queries), -1), "device": CPU} | options
    found = search.exact_top_k(queries, documents, byte_order(pa.array(ids, pa.string())), k, **settings)
    assert [column.dtype for column in found] == [np.int32, np.int32, np.float32]
    return list(zip(*(column.tolist() for column in found), strict=True))


def brute_force(vectors: tuple[np.ndarray, np.ndarray], ids: Sequence[str], k: int, **options: Any) -> Hits:
    """Every score in float64, rounded to float32, sorted as the rule reads."""
    queries, documents = (array.astype(np.float64) for array in vectors)
    if options.get("similarity") == "cosine":
        queries, documents = (unit_length(array) for array in (queries, documents))
    scores = (queries @ documents.T).astype(np.float32)
    left_out = options.get("excluded", np.full(len(queries), -1))
    hits: Hits = []
    for query, own in enumerate(left_out):
        rows = [row for row in range(len(documents)) if row != own]
        rows.sort(key=lambda row: (scores[query, row], ids[row].encode()), reverse=True)
        hits += [(query, row, float(scores[query, row])) for row in rows[:k]]
    return hits


def unit_length(vectors: np.ndarray) -> np.ndarray:
    norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("spare", "k", "kind"), pairs([0, 3, 128], [1, 10, 50, 199, 200, 1000], ["normal", "whole", "duplicates", "equal"])
)
def test_the_top_k_is_that_of_brute_force(monkeypatch: pytest.MonkeyPatch, kind: str, k: int, spare: int) -> None:
    monkeypatch.setattr(fast_pass, "SPARE", spare)
    vectors = random_vectors(kind, 7, seed=1), random_vectors(kind, 200)
    assert exact(vectors, ids_for(200), k) == brute_force(vectors, ids_for(200), k)


@pytest.mark.parametrize(("count", "queries", "similarity"), pairs([0, 1, 2], [1, 3], ["dot", "cosine"]))
def test_small_chunks_are_searched_too(count: int, queries: int, similarity: str) -> None:
    vectors = random_vectors("whole", queries, seed=2), random_vectors("whole", count)
    found = exact(vectors, ids_for(count), 2, similarity=similarity)
    assert found == brute_force(vectors, ids_for(count), 2, similarity=similarity)
    assert len(found) == queries * count


def test_more_ties_at_the_cut_than_room_are_cut_by_id() -> None:
    documents = np.concatenate([np.full((5, 4), 2.0), np.ones((3000, 4)), np.zeros((50, 4))]).astype(np.float32)
    vectors = np.ones((2, 4), np.float32), documents
    assert 10 + fast_pass.SPARE < 3000
    assert exact(vectors, ids_for(3055), 10) == brute_force(vectors, ids_for(3055), 10)


def test_scores_that_are_all_negative_are_ranked() -> None:
    vectors = -np.abs(random_vectors("normal", 3, seed=1)), np.abs(random_vectors("normal", 300))
    found = exact(vectors, ids_for(300), 5)
    assert found == brute_force(vectors, ids_for(300), 5)
    assert max(score for _, _, score in found) < 0


def test_the_cosine_ignores_lengths_and_is_zero_for_zero_vectors() -> None:
    documents = random_vectors("normal", 60)
    documents[40:50] = documents[:10] * 4
    documents[50:] = 0
    queries = np.concatenate([random_vectors("normal", 4, seed=1), np.zeros((1, 8), np.float32)])
    found = exact((queries, documents), ids_for(60), 60, similarity="cosine")
    assert found == brute_force((queries, documents), ids_for(60), 60, similarity="cosine")
    score = {(query, row): value for query, row, value in found}
    assert all(score[query, row] == score[query, row + 40] != 0 for query in range(4) for row in range(10))
    assert {value for (query, row), value in score.items() if query == 4 or row >= 50} == {0.0}


def test_the_cosine_of_a_tiny_vector_is_that_of_its_direction() -> None:
    documents = np.array([[1e-32, 0], [0.5, 0.5]], np.float32)
    found = exact((np.array([[1, 0]], np.float32), documents), ["a", "b"], 2, similarity="cosine")
    assert found == [(0, 0, 1.0), (0, 1, float(np.float32(0.5**0.5)))]


@pytest.mark.parametrize("kind", ["normal", "duplicates", "equal"])
def test_an_excluded_row_leaves_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", chunk_blocks.Blocks(queries=4, again=3, documents=30, at_once=20, pairs=7))
    monkeypatch.setattr(fast_pass, "SPARE", 2)
    documents, ids = random_vectors(kind, 100), ids_for(100)
    query = random_vectors("normal", 1, seed=1)
    ranking = [row for _, row, _ in brute_force((query, documents), ids, 100)]
    excluded = np.array([-1, ranking[0], ranking[4], ranking[5], ranking[99], 0, 29, 30, 99])
    vectors = np.repeat(query, len(excluded), axis=0), documents
    found = exact(vectors, ids, 5, excluded=excluded)
    assert found == brute_force(vectors, ids, 5, excluded=excluded)
    assert not {(number, own) for number, own in enumerate(excluded)} & {(number, row) for number, row, _ in found}


def test_a_chunk_of_nothing_but_the_excluded_row_has_no_hit() -> None:
    assert exact((np.ones((1, 4), np.float32),) * 2, ["d"], 3, excluded=np.array([0])) == []


@pytest.mark.parametrize("kind", ["normal", "duplicates", "equal"])
def test_results_depend_on_no_block_and_no_thread(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    vectors, ids = (random_vectors(kind, 20, 33, seed=1), random_vectors(kind, 500, 33)), ids_for(500)
    expected = exact(vectors, ids, 10)
    for document_block, query_block, threads in [(1, 512, 1), (7, 3, 2), (499, 1, 1), (500, 20, 2), (501, 19, 1)]:
        monkeypatch.setitem(
            chunk_blocks.BLOCKS,
            "cpu",
            chunk_blocks.Blocks(query_block, 3, document_block, 1 + document_block // 2, pairs=1 + document_block % 5),
        )
        torch.set_num_threads(threads)
        assert exact(vectors, ids, 10) == expected


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


@pytest.mark.parametrize("spare", [0, 4, 128])
def test_scores_that_a_product_in_float32_confuses_are_ranked_exactly(monkeypatch: pytest.MonkeyPatch, spare: int) -> None:
    monkeypatch.setattr(fast_pass, "SPARE", spare)
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
    monkeypatch: pytest.MonkeyPatch, similarity: str, value: float, whose: str, row: int
) -> None:
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", chunk_blocks.Blocks(queries=4, again=3, documents=30, at_once=20, pairs=7))
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
    ("of_queries", "of_documents"), [(1e18, 1e-30), (1e-22, 1e-22), (1e-30, 1e18), (1e-19, 1e-19), (1, 1e-44)]
)
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("spare", [0, 128])
def test_numbers_at_the_lower_end_of_float32_lose_no_document(
    monkeypatch: pytest.MonkeyPatch, of_queries: float, of_documents: float, near: bool, spare: int
) -> None:
    """Squares or products below the smallest number of float32 count as 0 in the fast pass."""
    monkeypatch.setattr(fast_pass, "SPARE", spare)
    queries, documents = random_vectors("normal", 5, 32, seed=1), random_vectors("normal", 400, 32)
    if near:
        documents = documents[:1] * (1 + random_vectors("whole", 400, 32) * np.float32(2.0**-22))
    vectors = queries * np.float32(of_queries), documents * np.float32(of_documents)
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
    monkeypatch.setattr(chunk_blocks, "BLOCK_BYTES", 30 * 8 * chunk_blocks.DOCUMENT_BYTES)
    monkeypatch.setattr(chunk_blocks, "PAIRS_BYTES", 12 * 8 * chunk_blocks.PAIR_BYTES)
    for dim, documents, most in [(8, 30, 12), (16, 15, 6), (100, 2, 1), (1000, 1, 1)]:
        vectors = random_vectors("normal", 3, dim, seed=1), random_vectors("normal", 60, dim)
        read = Read(vectors[1])
        found = exact((vectors[0], read), ids_for(60), 5, similarity=similarity)  # type: ignore[arg-type]
        assert read.most == documents
        assert chunk_blocks.BLOCKS["cpu"].of_dim(dim).pairs == most
        assert found == brute_force(vectors, ids_for(60), 5, similarity=similarity)


@pytest.mark.parametrize("dim", [1, 384, 768, 1024, 4096, 1 << 20])
@pytest.mark.parametrize("device", chunk_blocks.BLOCKS)
def test_a_block_takes_no_more_memory_whatever_the_dimensions(dim: int, device: str) -> None:
    blocks, most = chunk_blocks.BLOCKS[device].of_dim(dim), chunk_blocks.BLOCKS[device]
    assert 2 * blocks.documents * dim * 24 <= 1 << 30
    assert blocks.pairs * dim * 16 <= 1 << 28
    assert 1 <= blocks.documents <= most.documents
    assert 1 <= blocks.pairs <= most.pairs
    assert most.of_dim(384).documents >= 8192
    assert chunk_blocks.BLOCKS["cpu"].of_dim(1024) == chunk_blocks.BLOCKS["cpu"]


@pytest.mark.parametrize(("limit", "most"), [(1, 100 + 5), (1000, 1000 + 10 * 5), (1 << 22, 64 * 100 + 64 * 5)])
def test_where_all_scores_tie_a_few_queries_are_merged_at_a_time(monkeypatch: pytest.MonkeyPatch, limit: int, most: int) -> None:
    monkeypatch.setitem(
        chunk_blocks.BLOCKS, "cpu", chunk_blocks.Blocks(queries=64, again=5, documents=100, at_once=100, pairs=512)
    )
    monkeypatch.setattr(fast_pass, "SPARE", 2)
    monkeypatch.setattr(search, "CROWDED_PAIRS", limit)
    monkeypatch.setattr(search, "MERGED_QUERIES", 1)
    merged: list[int] = []

    def merge(parts: Sequence[Any], *arguments: Any) -> Any:
        merged.append(sum(len(part[0]) for part in parts))
        return merge_hits(parts, *arguments)

    monkeypatch.setattr(search, "merge_hits", merge)
    vectors = random_vectors("equal", 64), random_vectors("equal", 400)
    assert exact(vectors, ids_for(400), 5) == brute_force(vectors, ids_for(400), 5)
    crowded, last = merged[:-64], merged[-64:]
    assert max(crowded) == most
    assert last == [5] * 64


def test_no_queries_have_no_hits() -> None:
    assert exact((np.ones((0, 4), np.float32), np.ones((3, 4), np.float32)), ids_for(3), 2) == []


@pytest.fixture
def shortlists(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """A note of every shortlist that is made: of how many queries, and whether with a guess."""
    made: list[tuple[int, bool]] = []
    original = fast_pass._search

    def note(chunk: Any, keep: int, least: Any) -> Any:
        made.append((len(chunk.queries), least is not None))
        return original(chunk, keep, least)

    monkeypatch.setattr(fast_pass, "_search", note)
    return made


@pytest.mark.parametrize("kind", ["normal", "whole", "duplicates", "equal"])
def test_a_guess_from_a_sample_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, shortlists: list[tuple[int, bool]], kind: str, dtype: str
) -> None:
    monkeypatch.setattr(fast_pass, "SPARE", 30)
    vectors = random_vectors(kind, 7, seed=1), random_vectors(kind, 2000)
    assert exact(vectors, ids_for(2000), 50) == brute_force(vectors, ids_for(2000), 50)
    assert shortlists[0] == (7, True)
    assert (len(shortlists) == 2) == (dtype == "bfloat16" and kind in ("duplicates", "equal"))  # crowded


def test_where_the_sample_has_all_the_best_the_guess_is_too_high_and_made_up_for(
    monkeypatch: pytest.MonkeyPatch, shortlists: list[tuple[int, bool]], dtype: str
) -> None:
    monkeypatch.setattr(fast_pass, "SPARE", 30)
    queries, documents = np.eye(3, 8, dtype=np.float32), random_vectors("normal", 2000)
    width = 8  # of the sample's 16 slices, which begin at these places
    for start in np.linspace(0, 2000 - width, 16).astype(int)[:5]:
        documents[start : start + width] += 2 * queries[1]
    vectors, excluded = (queries, documents), np.array([-1, 5, 1999])
    assert exact(vectors, ids_for(2000), 50, excluded=excluded) == brute_force(vectors, ids_for(2000), 50, excluded=excluded)
    assert shortlists == [(3, True), *([(1, True)] if dtype == "bfloat16" else []), (1, False)]


def test_torch_has_as_many_threads_as_before() -> None:
    torch.set_num_threads(2)
    vectors = random_vectors("normal", 3, seed=1), random_vectors("normal", 20)
    exact(vectors, ids_for(20), 2)
    with pytest.raises(DataError):
        exact((vectors[0] * np.float32(np.nan), vectors[1]), ids_for(20), 2)
    assert torch.get_num_threads() == 2


def test_an_exception_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_pass.Shortlist, "offer", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        exact((random_vectors("normal", 3), random_vectors("normal", 20)), ids_for(20), 2)


@pytest.mark.parametrize(("count", "most", "threads"), [(0, 3, 2), (1, 3, 2), (7, 3, 2), (6, 3, 2), (1000, 512, 2), (5, 9, 8)])
def test_work_is_shared_in_equal_parts(count: int, most: int, threads: int) -> None:
    torch.set_num_threads(threads)
    found: list[slice] = []
    with Threads(CPU) as shared:
        shared.share(found.append, count, most)
    parts = sorted((part.start, part.stop) for part in found)
    assert [number for part in parts for number in range(*part)] == list(range(count))
    assert max((stop - start for start, stop in parts), default=0) <= most
    assert len(parts) >= min(count, threads)


def test_a_single_item_leaves_the_work_to_the_threads_of_torch() -> None:
    torch.set_num_threads(2)
    with Threads(CPU, alone=True) as threads:
        found: list[int] = []
        threads.share(lambda part: found.extend([part.start, part.stop, torch.get_num_threads()]), 1, 5)
    assert found == [0, 1, 2]


def test_vectors_of_different_dimensions_are_an_error() -> None:
    with pytest.raises(DataError, match="2 dimensions, the documents' 3"):
        search.exact_top_k(
            np.ones((1, 2), np.float32),
            np.ones((4, 3), np.float32),
            np.arange(4),
            2,
            similarity="dot",
            excluded=np.array([-1]),
            device=torch.device("cpu"),
        )


def test_a_sample_is_no_larger_than_two_blocks(monkeypatch: pytest.MonkeyPatch, shortlists: list[tuple[int, bool]]) -> None:
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", chunk_blocks.Blocks(queries=4, again=3, documents=32, at_once=32, pairs=64))
    monkeypatch.setattr(fast_pass, "SPARE", 30)
    products: list[tuple[int, ...]] = []
    largest = fast_pass.kth_largest
    monkeypatch.setattr(fast_pass, "kth_largest", lambda scores, k: products.append(tuple(scores.shape)) or largest(scores, k))
    vectors = random_vectors("normal", 4, seed=1), random_vectors("normal", 2000)
    assert exact(vectors, ids_for(2000), 10) == brute_force(vectors, ids_for(2000), 10)
    assert {documents for _, documents in products} == {64}
    assert shortlists[0] == (4, True)
