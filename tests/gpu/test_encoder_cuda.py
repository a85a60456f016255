"""The same numbers on CUDA as on the CPU, packed as padded.

Run with ``python -m pytest tests/gpu``, which needs pytest, torch for CUDA, transformers, numpy, pyarrow and tqdm; without
pytest-timeout, pytest warns of the option ``timeout`` and goes on.
"""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from beirflow.core.progress import Progress
from beirflow.models.encoders import encoder as encoder_module
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from beirflow.run.devices import choose_precision
from tiny_bert import ARCHITECTURES, WORDS, save_model, save_tiny_bert

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in RNG.integers(0, 62, 64)]
ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS = {"mean": 32, "cls": 96, "pooler": 160}
"""Largest relative error of a vector, in units of roundoff: on a CPU, half precision alone reaches 13, 44 and 69 of them."""

POOLINGS = ["mean", "cls", "pooler"]


def some(cases: list[Any], first: int, step: int) -> list[Any]:
    """All cases on a real device; a pretended one computes as the CPU does, so that a few show how it is called."""
    return cases if torch.cuda.is_available() else cases[first::step]


def make(
    folder: Path, device: str = "cuda", precision: str = "float32", token_budget: int = 4096, **fields: Any
) -> TransformersEncoder:
    system = EncoderSettings(name="tiny", model=str(folder), **{"max_length": 64, "pooling": "mean", **fields})
    return TransformersEncoder(system, folder, device=device, precision=precision, token_budget=token_budget)


def largest_error(vectors: np.ndarray, expected: np.ndarray) -> float:
    assert vectors.dtype == np.float32
    return (np.linalg.norm(vectors - expected, axis=1) / np.linalg.norm(expected, axis=1)).max()


def tolerance(precision: str, pooling: str) -> float:
    return max(UNITS[pooling] * ROUNDOFF[precision], 1e-4)


@pytest.mark.parametrize(("precision", "pooling"), some([*product(ROUNDOFF, POOLINGS)], 0, 4))
def test_vectors_are_those_of_the_cpu_and_packed_is_as_near_as_padded(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, precision: str, pooling: str
) -> None:
    expected = make(tiny_bert, "cpu", pooling=pooling).encode_corpus(TEXTS)
    encoder = make(tiny_bert, precision=precision, pooling=pooling)
    assert encoder.packed is (precision != "float32")
    found = encoder.encode_corpus(TEXTS)
    assert largest_error(found, expected) < tolerance(precision, pooling)
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: False)
    encoder = make(tiny_bert, precision=precision, pooling=pooling)
    assert encoder.packed is False
    padded = encoder.encode_corpus(TEXTS)
    assert largest_error(found, padded) < tolerance(precision, pooling)
    assert largest_error(found, expected) < 2 * largest_error(padded, expected) + 2.0**-10


# The test above has the first; a vmap makes the masks of the last, and does not see a pretended device.
OTHERS = some(ARCHITECTURES[8:-1], 1, 4)
"""On a pretended device: a causal one, one with a window, and one with both."""


@pytest.mark.parametrize(("model_type", "sizes", "pooling"), OTHERS)
def test_each_architecture_is_packed_and_as_near_as_padded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str, sizes: dict[str, Any], pooling: str
) -> None:
    folder = save_model(model_type, tmp_path, **sizes)
    expected = make(folder, "cpu", pooling=pooling).encode_corpus(TEXTS)
    encoder = make(folder, precision="bfloat16", pooling=pooling)
    assert encoder.packed
    packed = encoder.encode_corpus(TEXTS)
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: False)
    padded = make(folder, precision="bfloat16", pooling=pooling).encode_corpus(TEXTS)
    assert largest_error(packed, expected) < 2 * largest_error(padded, expected) + 2.0**-10


@pytest.mark.parametrize("token_budget", [1, 100, 1 << 16])
def test_packed_vectors_do_not_depend_on_the_budget(tiny_bert: Path, token_budget: int) -> None:
    expected = make(tiny_bert, precision="bfloat16").encode_corpus(TEXTS)
    vectors = make(tiny_bert, precision="bfloat16", token_budget=token_budget).encode_corpus(TEXTS)
    assert largest_error(vectors, expected) < 2.0**-6


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False), ("pooler", True)])
def test_the_host_does_not_wait_for_the_device_between_batches(tiny_bert: Path, pooling: str, normalize: bool) -> None:
    encode_without_waiting(make(tiny_bert, precision="bfloat16", token_budget=500, pooling=pooling, normalize=normalize))


@pytest.mark.parametrize("model_type", ["bert", "mpnet"])
def test_the_host_does_not_wait_between_padded_batches(tmp_path: Path, model_type: str) -> None:
    encode_without_waiting(make(save_model(model_type, tmp_path), token_budget=500))


def encode_without_waiting(encoder: TransformersEncoder) -> None:
    expected = encoder.encode_corpus(TEXTS)
    window = encoder._tokenize(TEXTS, "documents", 0)
    with Progress("encode", len(TEXTS), "documents") as progress, torch.inference_mode():
        torch.cuda.set_sync_debug_mode("error")
        try:
            arrive = encoder._begin(window, progress)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert largest_error(arrive(), expected) < 2.0**-6


def test_precision_auto_is_bfloat16_where_the_device_computes_with_it() -> None:
    native = torch.cuda.get_device_capability() >= (8, 0)
    assert choose_precision("auto", torch.device("cuda")) == (torch.bfloat16 if native else torch.float32)


@pytest.mark.usefixtures("real_cuda")
def test_a_fresh_process_that_loads_a_model_as_a_job_does_encodes_packed(tiny_bert: Path, tmp_path: Path) -> None:
    """Here everything has been imported already; a job imports only the half of transformers that it needs."""
    code = """
import sys, numpy as np
from pathlib import Path
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
folder, output, *texts = sys.argv[1:]
system = EncoderSettings(name="tiny", model=folder, max_length=64, pooling="mean")
encoder = TransformersEncoder(system, Path(folder), device="cuda", precision="bfloat16", token_budget=4096)
assert encoder.packed
np.save(output, encoder.encode_corpus(texts))
"""
    output = tmp_path / "vectors.npy"
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", code, tiny_bert, output, *TEXTS], env={**os.environ, "PYTHONPATH": path}, check=True)
    expected = make(tiny_bert, precision="bfloat16").encode_corpus(TEXTS)
    assert largest_error(np.load(output), expected) < 2.0**-6


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_running_out_of_memory_lowers_the_budget_and_goes_on(tmp_path: Path, precision: str) -> None:
    """Padded in float32, packed in bfloat16; a batch of all texts needs more than the 32 MiB that are left."""
    folder = save_tiny_bert(tmp_path, layers=1, dim=256, positions=512)
    texts = ["w1 " * 500] * 64
    encoder = make(folder, precision=precision, token_budget=1 << 16, max_length=512)
    expected = encoder.encode_corpus(texts[:1])
    torch.cuda.empty_cache()
    free_bytes, total = torch.cuda.mem_get_info()
    limit = torch.cuda.memory_reserved() + (32 << 20)
    if limit > free_bytes:
        pytest.skip(f"needs {limit} free bytes on the device, found {free_bytes}")
    torch.cuda.set_per_process_memory_fraction(limit / total)
    try:
        vectors = encoder.encode_corpus(texts)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert encoder.budget.tokens < 1 << 15
    assert largest_error(vectors, np.repeat(expected, len(texts), axis=0)) < tolerance(precision, "mean")
