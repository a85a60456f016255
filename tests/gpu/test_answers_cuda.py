"""On a GPU a query alone, over vectors that stay there, has the hits that a CPU finds, to the last bit."""

import numpy as np
import pytest
import torch
from beirflow.dense.chunk_blocks import InMemoryChunk
from beirflow.dense.top_k import exact_top_k
from beirflow.late.search import arranged
from beirflow.late.search import exact_top_k as exact_top_k_of_tokens
from beirflow.late.vectors import Segment
from token_vectors import random_vectors

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_vectors_that_stay_on_the_gpu_have_the_hits_of_the_cpu(similarity: str) -> None:
    rng = np.random.default_rng(0)
    documents, queries = (rng.standard_normal((rows, 64), dtype=np.float32) for rows in (150_000, 3))
    held = InMemoryChunk([documents[:70_000], documents[70_000:]], similarity, CUDA)
    how = {"similarity": similarity, "excluded": np.array([-1])}
    for query in queries:
        expected = exact_top_k(query[None], documents, np.arange(150_000), 100, device=CPU, **how)  # type: ignore[arg-type]
        found = exact_top_k(query[None], held, np.arange(150_000), 100, device=CUDA, **how)  # type: ignore[arg-type]
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


def test_vectors_of_tokens_that_stay_on_the_gpu_have_the_hits_of_the_cpu() -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(500, dtype=np.int32)
    segment = Segment(random_vectors(rng, rng.integers(1, 60, size=500), dim=128, tokens=None), rows, rows)
    query, held = random_vectors(rng, np.array([32]), dim=128, tokens=None), [arranged(segment, CUDA)]
    expected = exact_top_k_of_tokens(query, lambda: [segment], rows, 30, excluded=np.array([-1]), device=CPU)
    found = exact_top_k_of_tokens(query, lambda: held, rows, 30, excluded=np.array([-1]), device=CUDA)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)
