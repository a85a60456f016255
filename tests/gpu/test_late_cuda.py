"""On a GPU vectors of tokens are those of the CPU, and the search of the same vectors finds the same to the last bit."""

from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
import torch

from beirflow.families.late_interaction import max_sim
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.max_sim import Sizes
from beirflow.families.late_interaction.search import exact_top_k
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors, read_segments
from beirflow.ranking.ranking import Cut, byte_order
from beirflow.run.devices import fast_type
from tiny_bert import WORDS
from tiny_colbert import save_colbert
from token_vectors import random_vectors, written

TEXTS = [" ".join(WORDS[i : i + 1 + i % 50]) for i in range(150)]


@pytest.mark.parametrize("kind", ["queries", "documents"])
def test_vectors_are_those_of_the_cpu(tmp_path: Path, kind: str) -> None:
    settings = LateSettings("s", model=str(save_colbert(tmp_path / "model")))

    def encoded(device: str, precision: str) -> TokenVectors:
        how = {"device": device, "precision": precision, "token_budget": "auto"}
        encoder = TokenEncoder(settings, tmp_path / "model", kind, **how)  # type: ignore[arg-type]
        return TokenVectors.together(list(encoder.windows(TEXTS)))

    expected, found, rough = encoded("cpu", "float32"), encoded("cuda", "float32"), encoded("cuda", "auto")
    assert np.array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.vectors.astype(np.float32), expected.vectors, atol=2e-3)
    assert (rough.vectors.astype(np.float32) * expected.vectors).sum(axis=1).min() > 0.9


@pytest.mark.parametrize("sizes", [None, Sizes(32, 100, 4, 2500, 150)])
@pytest.mark.parametrize("tokens", [None, 20])
def test_the_search_is_that_of_the_cpu(
    tmp_path: Path, tokens: int | None, sizes: Sizes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sizes:
        monkeypatch.setitem(max_sim.SIZES, "cuda", sizes)
    rng = np.random.default_rng(0)
    queries = random_vectors(rng, rng.integers(1, 33, size=8), dim=128, tokens=tokens)
    path = written(random_vectors(rng, rng.integers(1, 60, size=60), dim=128, tokens=tokens), range(60), tmp_path / "v.arrow")
    order = byte_order(pa.array([f"d{number}" for number in range(60)]))
    cut = Cut(20, order, rng.integers(-1, 60, size=8))
    search = partial(exact_top_k, queries, partial(read_segments, path), cut)
    for expected, found in zip(search(device=torch.device("cpu")), search(device=torch.device("cuda")), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("free", "times"), [(1 << 30, 1), (1 << 10, 2)])
def test_a_chunk_is_read_once_where_the_device_has_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, times: int
) -> None:
    """Twice otherwise: for the shortlist, and for exact scores."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (free, 1 << 30))
    rng = np.random.default_rng(0)
    queries = random_vectors(rng, np.array([5, 7]), dim=128)
    path = written(random_vectors(rng, rng.integers(1, 60, size=60), dim=128), range(60), tmp_path / "v.arrow")
    read = Mock(side_effect=partial(read_segments, path))
    search = partial(exact_top_k, queries, read, Cut(20, np.arange(60), np.full(2, -1)))
    found = search(device=torch.device("cuda"))
    assert read.call_count == times
    for one, other in zip(found, search(device=torch.device("cpu")), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "multiply", [lambda one, other, out_dtype: (one @ other).to(out_dtype), Mock(side_effect=RuntimeError("no"))]
)
def test_half_precision_is_not_used_where_it_is_not_summed_in_float32(monkeypatch: pytest.MonkeyPatch, multiply: Any) -> None:
    fast_type.cache_clear()
    assert fast_type(torch.device("cuda")) == torch.float16
    fast_type.cache_clear()
    monkeypatch.setattr(torch, "mm", multiply)
    assert fast_type(torch.device("cuda")) == torch.float32
    fast_type.cache_clear()
