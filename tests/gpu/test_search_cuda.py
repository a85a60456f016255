"""Search on CUDA finds what it finds on the CPU: documents, order and scores."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("pyarrow", reason="beirflow.families.dense.search needs pyarrow")

from beirflow.families.dense import chunk
from beirflow.families.dense.chunk import Sizes
from beirflow.families.dense.top_k import exact_top_k
from beirflow.families.dense.vectors import VectorFile
from beirflow.ranking.ranking import Cut

RNG = np.random.default_rng(0)


def assert_the_same(queries: np.ndarray, documents: np.ndarray, excluded: np.ndarray, k: int, similarity: str) -> None:
    order = np.random.default_rng(1).permutation(len(documents))
    found = [
        exact_top_k(queries, documents, Cut(k, order, excluded), similarity=similarity, device=torch.device(device))
        for device in ("cpu", "cuda")
    ]
    assert len(found[0][0]) == len(queries) * min(k, len(documents)) - (excluded >= 0).sum() * (k >= len(documents))
    for on_cpu, on_cuda in zip(*found, strict=True):
        np.testing.assert_array_equal(on_cpu, on_cuda)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("block", [65_536, 7000])
def test_search_finds_the_same_as_on_the_cpu(monkeypatch: pytest.MonkeyPatch, similarity: str, block: int) -> None:
    monkeypatch.setitem(chunk.SIZES, "cuda", Sizes(64, block, block, 1 << 12))
    documents = RNG.standard_normal((40_000, 64), dtype=np.float32)
    documents[20_000:20_500] = documents[:500]
    queries = np.concatenate([RNG.standard_normal((50, 64), dtype=np.float32), documents[:50]])
    excluded = np.where(np.arange(100) % 3 == 0, np.arange(100), -1)
    assert_the_same(queries, documents, excluded, 100, similarity)


def test_more_ties_at_the_cut_than_there_is_room_for() -> None:
    documents = RNG.integers(-1, 2, (20_000, 8)).astype(np.float32)
    queries = RNG.integers(-1, 2, (30, 8)).astype(np.float32)
    assert_the_same(queries, documents, np.full(30, -1), 50, "dot")


@pytest.mark.parametrize("documents", [1, 30, 100])
def test_fewer_documents_than_are_asked_for(documents: int) -> None:
    vectors = RNG.standard_normal((documents, 16), dtype=np.float32)
    assert_the_same(vectors[:1], vectors, np.array([0]), 100, "dot")


def test_a_chunk_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk.SIZES, "cuda", Sizes(64, 1000, 1000, 1 << 12))
    documents, reads = RNG.standard_normal((5000, 16), dtype=np.float32), list[slice]()

    class Documents:
        shape = documents.shape

        def __len__(self) -> int:
            return len(documents)

        def __getitem__(self, rows: slice) -> np.ndarray:
            reads.append(rows)
            return documents[rows]

    search = partial(exact_top_k, cut=Cut(10, np.arange(5000), np.array([-1])), similarity="dot")
    expected = search(documents[:1], documents, device=torch.device("cpu"))
    for one, other in zip(expected, search(documents[:1], Documents(), device=torch.device("cuda")), strict=True):  # type: ignore[arg-type]
        np.testing.assert_array_equal(other, one)
    blocks = [rows.start for rows in reads if rows.stop - rows.start == 1000]  # beside those of the sample
    assert blocks == [0, 1000, 2000, 3000, 4000]


def test_a_file_is_read_into_memory_that_the_device_copies_from(tmp_path: Path) -> None:
    vectors = RNG.standard_normal((100, 8), dtype=np.float32)
    np.save(tmp_path / "v.npy", vectors)
    torch.ones(1, device="cuda")
    part = VectorFile(tmp_path / "v.npy", 100)[10:90]
    assert torch.from_numpy(part).is_pinned()
    np.testing.assert_array_equal(part, vectors[10:90])


def test_a_file_that_is_read_while_the_device_copies_has_the_hits_of_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(chunk.SIZES, "cuda", Sizes(64, 500, 500, 1 << 12))
    vectors = RNG.standard_normal((4000, 16), dtype=np.float32)
    np.save(tmp_path / "v.npy", vectors)
    torch.ones(1, device="cuda")
    search = partial(exact_top_k, vectors[:20], cut=Cut(10, np.arange(4000), np.full(20, -1)), similarity="dot")
    expected = search(vectors, device=torch.device("cpu"))
    found = search(VectorFile(tmp_path / "v.npy", 4000), device=torch.device("cuda"))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)
