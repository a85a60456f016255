"""The top k is that of brute force in double over all pairs, ties included, whatever the segments, blocks and threads."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from beirflow.families.late_interaction import max_sim, search, vectors
from beirflow.families.late_interaction.max_sim import Sizes
from beirflow.families.late_interaction.search import exact_top_k
from beirflow.families.late_interaction.vectors import TokenVectors, read_segments
from beirflow.ranking.ranking import Cut, byte_order
from beirflow.run import devices
from listening import short_of_memory
from processors import AMD, INTEL, processor_of
from token_vectors import Hit, best, random_vectors, text_scores, written

CPU = torch.device("cpu")


def found(queries: TokenVectors, path: Path, ids: list[str], k: int, excluded: np.ndarray | None = None) -> list[Hit]:
    out = np.full(len(queries.counts), -1) if excluded is None else excluded
    hits = exact_top_k(queries, partial(read_segments, path), Cut(k, byte_order(pa.array(ids)), out), device=CPU)
    assert [column.dtype for column in hits] == [np.int32, np.int32, np.float32]
    return list(zip(*(column.tolist() for column in hits), strict=True))


def cut_off(some: torch.Tensor, others: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    """Multiply as a tensor core that adds 16 products at a time, and cuts each sum off at 2 ** -22."""
    products.zero_()
    for first in range(0, some.shape[1], 16):
        part = slice(first, first + 16)
        products += some[:, part].float() @ others[part].float()
        products.mul_(2.0**22).trunc_().mul_(2.0**-22)
    return products


def as_far_as_allowed(some: torch.Tensor, others: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    """Multiply as far off as the bound allows, to a side that the numbers decide."""
    error = some.shape[1] * max_sim.UNIT_ROUNDOFF[torch.float16]
    far = error * some.double().norm(dim=1)[:, None] * others.double().norm(dim=0)
    return products.copy_(some.double() @ others.double() + 0.99 * far * torch.randn(products.shape).sign())


HALF = [None, cut_off, as_far_as_allowed]


def multiply_in_half(patch: pytest.MonkeyPatch, multiply: Callable[..., torch.Tensor] | None) -> None:
    """Let the search multiply vectors in half precision, by a function, if there is one."""
    if multiply:
        patch.setattr(max_sim, "fast_type", lambda _: torch.float16)
        patch.setattr(max_sim, "_multiply", multiply)


@given(
    seed=st.integers(0, 2**16),
    texts=st.integers(1, 30),
    queries=st.integers(1, 6),
    k=st.integers(1, 12),
    tokens=st.sampled_from([None, 3, 12]),
    segment=st.sampled_from([1, 9, 1 << 17]),
    spare=st.sampled_from([0, 2, 128]),
    multiply=st.sampled_from(HALF),
)
def test_the_top_k_is_that_of_brute_force(
    seed: int,
    texts: int,
    queries: int,
    k: int,
    tokens: int | None,
    segment: int,
    spare: int,
    multiply: Callable[..., torch.Tensor] | None,
) -> None:
    rng = np.random.default_rng(seed)
    documents = random_vectors(rng, rng.integers(1, 20, size=texts), tokens=tokens)
    asked = random_vectors(rng, rng.integers(1, 9, size=queries), tokens=tokens)
    rows = rng.integers(texts, size=texts * 2)
    distinct = list(dict.fromkeys(rows.tolist()))  # in the order of their first rows
    indices = np.array([distinct.index(row) for row in rows.tolist()])
    documents = documents.take(np.array(distinct))
    ids = [f"d{number}" for number in rng.permutation(len(indices))]
    excluded = rng.integers(-1, len(ids), size=(queries, 1 + seed % 3))
    expected = text_scores(asked, documents)[:, indices]
    expected[np.nonzero(excluded >= 0)[0], excluded[excluded >= 0]] = -np.inf
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        multiply_in_half(patch, multiply)
        patch.setattr(vectors, "SEGMENT_TOKENS", segment)
        patch.setattr(search, "SPARE", spare)
        patch.setitem(max_sim.SIZES, "cpu", Sizes(11, 30, 1 + seed % 9, 64, 40))
        path = written(documents, indices, Path(folder) / "v.arrow", at_once=1 + seed % 7)
        assert found(asked, path, ids, k, excluded) == best(expected, ids, k)


def test_the_top_k_is_that_of_brute_force_where_onednn_multiplies(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    documents, asked = (random_vectors(rng, rng.integers(1, most, size=60), tokens=12) for most in (20, 9))
    ids = [f"d{number}" for number in rng.permutation(60)]
    with processor_of(AMD) as products:
        path = written(documents, range(60), tmp_path / "v.arrow")
        assert found(asked, path, ids, 7) == best(text_scores(asked, documents), ids, 7)
    assert products


@pytest.mark.parametrize(("vendor", "module", "product"), [(INTEL, torch, "mm"), (AMD, devices, "_multiply_by_onednn")])
def test_where_memory_runs_out_blocks_are_halved_and_hits_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, vendor: str, module: Any, product: str
) -> None:
    rng = np.random.default_rng(2)
    documents, asked = random_vectors(rng, rng.integers(1, 20, size=30)), random_vectors(rng, rng.integers(1, 9, size=6))
    path, ids = written(documents, range(30), tmp_path / "v.arrow"), [f"d{number}" for number in range(30)]
    monkeypatch.setitem(max_sim.SIZES, "cpu", Sizes(32, 32, 1, 64, 40))
    monkeypatch.setattr(search, "require_exact_products", lambda device: None)
    expected = best(text_scores(asked, documents), ids, 5)
    with processor_of(vendor):
        short_of_memory(monkeypatch, module, product, lambda one, other, *_, **__: len(one) * other.numel() // one.shape[1] > 200)
        assert found(asked, path, ids, 5) == expected
    assert "continuing with blocks of 1/4 of their size" in caplog.text


@pytest.mark.parametrize("cancels", [False, True])
@pytest.mark.parametrize("multiply", HALF)
def test_scores_that_float32_cannot_tell_apart_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, multiply: Callable[..., torch.Tensor] | None, cancels: bool
) -> None:
    """Texts whose scores differ by less than a fast pass is wrong by; of which hardly anything remains where products cancel."""
    multiply_in_half(monkeypatch, multiply)
    rng = np.random.default_rng(1)
    documents = random_vectors(rng, [6] * 300, dim=128)
    nearly = documents.vectors.copy().reshape(300, 6, 128)
    nearly[1:] = nearly[0]
    nearly[np.arange(1, 300), 0, rng.integers(128, size=299)] *= np.float16(1.001)
    documents = TokenVectors(documents.counts, nearly.reshape(-1, 128))
    asked = random_vectors(rng, [32], dim=128)
    if cancels:
        documents.vectors[:, 64:] = documents.vectors[:, :64]
        asked.vectors[:, 64:] = -asked.vectors[:, :64]
        documents.vectors[:, 0] *= np.float16(1) + rng.integers(-4, 5, len(documents.vectors)).astype(np.float16) / 1024
    ids = [f"d{number}" for number in range(300)]
    hits = found(asked, written(documents, range(300), tmp_path / "v.arrow"), ids, 20)
    assert hits == best(text_scores(asked, documents), ids, 20)


def test_nothing_is_found_for_no_query(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = written(random_vectors(rng, [2, 3]), [0, 1], tmp_path / "v.arrow")
    nothing = TokenVectors(np.empty(0, np.int64), np.empty((0, 16), np.float16))
    assert found(nothing, path, ["a", "b"], 3) == []
