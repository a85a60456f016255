"""On a GPU a query alone, over vectors that stay there, has the hits that a CPU finds, to the last bit."""

import numpy as np
import pytest
import torch

from beirflow.families.dense import chunk
from beirflow.families.dense.chunk import InMemoryChunk, Sizes
from beirflow.families.dense.top_k import exact_top_k
from beirflow.families.late_interaction.search import arranged
from beirflow.families.late_interaction.search import exact_top_k as exact_top_k_of_tokens
from beirflow.families.late_interaction.vectors import Segment
from beirflow.ranking.ranking import Cut
from token_vectors import random_vectors

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_vectors_that_stay_on_the_gpu_have_the_hits_of_the_cpu(monkeypatch: pytest.MonkeyPatch, similarity: str) -> None:
    monkeypatch.setitem(chunk.SIZES, "cuda", Sizes(64, 7000, 7000, 1 << 12))
    rng = np.random.default_rng(0)
    documents, queries = (rng.standard_normal((rows, 64), dtype=np.float32) for rows in (20_000, 3))
    held = InMemoryChunk(documents, similarity, CUDA)
    cut = Cut(100, np.arange(20_000), np.array([-1]))
    for query in queries:
        expected = exact_top_k(query[None], documents, cut, similarity=similarity, device=CPU)
        found = exact_top_k(query[None], held, cut, similarity=similarity, device=CUDA)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


def test_vectors_of_tokens_that_stay_on_the_gpu_have_the_hits_of_the_cpu() -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(500, dtype=np.int32)
    segment = Segment(random_vectors(rng, rng.integers(1, 60, size=500), dim=128, tokens=None), rows, rows)
    query, held = random_vectors(rng, np.array([32]), dim=128, tokens=None), [arranged(segment, CUDA)]
    cut = Cut(30, rows, np.array([-1]))
    expected = exact_top_k_of_tokens(query, lambda: [segment], cut, device=CPU)
    found = exact_top_k_of_tokens(query, lambda: held, cut, device=CUDA)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)
