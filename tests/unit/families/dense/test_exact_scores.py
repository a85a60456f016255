"""A score is that of one order of summation, whatever order was computed first."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from beirflow.families.dense import chunk_blocks
from beirflow.families.dense import exact_scores as module
from beirflow.families.dense.chunk_blocks import Blocks, Chunk
from beirflow.run.threads import Threads

CPU = torch.device("cpu")


class Summed(TorchDispatchMode):
    """Notes the shapes of what is summed."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.ops.aten.sum.dim_IntList and args[0].dtype == torch.float64:
            self.shapes.append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))


def scores_of(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Scores of all pairs."""
    matrix, block = torch.from_numpy(queries), torch.from_numpy(documents)
    query, row = (torch.from_numpy(part) for part in np.divmod(np.arange(len(queries) * len(documents)), len(documents)))
    with Threads(CPU) as threads:
        chunk = Chunk(matrix, documents, torch.full((len(queries), 1), -1), "dot", threads)
        return module.exact_scores(chunk, block, block.norm(dim=1), query, row).reshape(len(queries), -1).numpy()


def between(rng: np.random.Generator, count: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose dot products lie between two neighbours in float32, or one of their last bits in float64 beside that."""
    documents = rng.integers(-8, 9, (count, dim)).astype(np.float32)
    documents[:, -3:] = [2.0**20, 2.0**-4, 0]
    documents[:, -1] = rng.choice([-1, 0, 1], count) * 2.0**-33
    return np.ones((3, dim), np.float32), documents[:, rng.permutation(dim)]


def vectors_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Queries and 300 documents."""
    rng = np.random.default_rng(7)
    queries, documents = (rng.standard_normal((count, 48)).astype(np.float32) for count in (5, 300))
    if kind == "between":
        return between(rng, 300, 48)
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
    pairs = (torch.from_numpy(part) for part in np.divmod(np.arange(len(queries) * 300), 300))
    careful = module.careful_scores(torch.from_numpy(queries), torch.from_numpy(documents), *pairs, size=64)
    expected = careful.reshape(len(queries), 300).numpy()
    np.testing.assert_array_equal(scores_of(queries, documents), expected)
    original = module._fast_sums
    for direction in (-1, 1):

        def wrong(queries: Any, block: Any, query: np.ndarray, row: np.ndarray, *rest: Any, direction: int = direction) -> Any:
            most = queries.shape[1] * 2.0**-53 * queries.norm(dim=1)[query] * block.double().norm(dim=1)[row]
            return original(queries, block, query, row, *rest) + direction * most.numpy()

        monkeypatch.setattr(module, "_fast_sums", wrong)
        np.testing.assert_array_equal(scores_of(queries, documents), expected)


def test_the_careful_sum_is_rarely_needed_and_always_of_equally_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", Blocks(512, 64, 1000, 100, pairs=64))
    rng = np.random.default_rng(3)
    queries, documents = (rng.standard_normal((count, 384)).astype(np.float32) for count in (20, 1000))
    with Summed() as summed:
        scores_of(queries, documents)
    assert len(summed.shapes) <= 1 + 20 * 1000 / 64 / 100
    with Summed() as summed:
        scores_of(*between(rng, 300, 384))
    assert len(summed.shapes) > 1
    assert set(summed.shapes) == {(64, 384)}
