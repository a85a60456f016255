"""The same numbers on CUDA as on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beirflow.encoder import TransformersEncoder
from beirflow.search import exact_top_k
from beirflow.system import System
from tiny_bert import WORDS, save_tiny_bert

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in RNG.integers(0, 62, 300)]


def encode(folder: Path, device: str, precision: str = "float32", **fields: Any) -> np.ndarray:
    system = System(name="tiny", model=str(folder), **{"max_length": 64, **fields})
    return TransformersEncoder(system, folder, device=device, precision=precision, token_budget=4096).encode_corpus(TEXTS)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("float16", 2.0**-7), ("bfloat16", 2.0**-4)])
def test_vectors_are_those_of_the_cpu(tiny_bert: Path, pooling: str, precision: str, tolerance: float) -> None:
    expected = encode(tiny_bert, "cpu", pooling=pooling)
    vectors = encode(tiny_bert, "cuda", precision, pooling=pooling)
    assert vectors.dtype == np.float32
    error = np.linalg.norm(vectors - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert error.max() < tolerance


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_search_finds_the_same_as_on_the_cpu(similarity: str) -> None:
    documents = RNG.standard_normal((40_000, 64), dtype=np.float32)
    documents[20_000:20_500] = documents[:500]
    queries = np.concatenate([RNG.standard_normal((50, 64), dtype=np.float32), documents[:50]])
    order, excluded = RNG.permutation(len(documents)), np.where(np.arange(100) % 3 == 0, np.arange(100), -1)
    found = [
        exact_top_k(queries, documents, order, 100, similarity=similarity, excluded=excluded, device=torch.device(device))
        for device in ("cpu", "cuda")
    ]
    for on_cpu, on_cuda in zip(*found, strict=True):
        np.testing.assert_array_equal(on_cpu, on_cuda)


def test_running_out_of_memory_lowers_the_budget_and_goes_on(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path, layers=1, dim=256, positions=512)
    texts = ["w1 " * 500] * 512
    system = System(name="tiny", model=str(folder))
    encoder = TransformersEncoder(system, folder, device="cuda", precision="float32", token_budget=1 << 19)
    expected = encoder.encode_corpus(texts[:1])
    torch.cuda.empty_cache()
    free_bytes, total = torch.cuda.mem_get_info()
    limit = torch.cuda.memory_allocated() + (256 << 20)
    if limit > free_bytes:
        pytest.skip(f"needs {limit} free bytes on the device, found {free_bytes}")
    torch.cuda.set_per_process_memory_fraction(limit / total)
    try:
        vectors = encoder.encode_corpus(texts)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert encoder.token_budget < 1 << 19
    np.testing.assert_allclose(vectors, np.repeat(expected, len(texts), axis=0), atol=1e-4)
