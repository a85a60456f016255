"""Attention in blocks is that of torch, and models have it where this processor is faster with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from beirflow.models.computing import block_attention as blocks
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from listening import heard
from processors import AMD, processor_of
from tiny_bert import ARCHITECTURES, WORDS, save_model

BATCH, HEADS, TOKENS, DIM = 3, 4, 10, 8
DRAWN = np.random.default_rng(0)
TEXTS = [" ".join(DRAWN.choice(WORDS, size=length)) for length in DRAWN.integers(1, 60, size=40)]
MASKS = {
    "none": None,
    "of texts": torch.arange(TOKENS) < torch.tensor([10, 7, 1])[:, None, None, None],
    "of queries": (torch.arange(TOKENS) >= torch.arange(TOKENS)[:, None])[None, None],
    "of numbers": torch.randn((BATCH, HEADS, TOKENS, TOKENS), generator=torch.Generator().manual_seed(0)),
}


@pytest.fixture
def bfloat16_without_amx(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take this processor for one that attends in blocks."""
    with processor_of(AMD):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
        blocks.attends_in_blocks.cache_clear()
        yield
    blocks.attends_in_blocks.cache_clear()
    AttentionInterface.register("sdpa", sdpa_attention_forward)


@pytest.mark.parametrize("products", [blocks.PRODUCTS, HEADS * TOKENS * TOKENS, 3 * HEADS * TOKENS, 1])
@pytest.mark.parametrize("heads", [HEADS, 2])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_blocks_of_every_size_attend_as_torch_does(
    monkeypatch: pytest.MonkeyPatch, mask: torch.Tensor | None, heads: int, products: int
) -> None:
    monkeypatch.setattr(blocks, "PRODUCTS", products)
    generator = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn((BATCH, number, TOKENS, DIM), generator=generator) for number in (HEADS, heads, heads))
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(blocks.block_attention(query, key, value, mask, 0.3), expected.transpose(1, 2))
    usual = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    torch.testing.assert_close(blocks.block_attention(query, key, value, mask), usual.transpose(1, 2))


def by_torch(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, scaling: float | None
) -> torch.Tensor:
    """Attend by torch's kernel."""
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(query, key, value, mask, scale=scaling, enable_gqa=True).transpose(1, 2)


def encoded(folder: Path, pooling: str, precision: str) -> tuple[TransformersEncoder, np.ndarray]:
    settings = EncoderSettings("tiny", str(folder), pooling=pooling)
    encoder = TransformersEncoder(settings, folder, device="cpu", precision=precision, token_budget=100)
    return encoder, encoder.encode_corpus(TEXTS)


@pytest.mark.parametrize(("kind", "sizes", "pooling"), ARCHITECTURES, ids=[kind for kind, *_ in ARCHITECTURES])
@pytest.mark.usefixtures("bfloat16_without_amx")
def test_models_that_see_whole_texts_attend_in_blocks_in_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, sizes: dict[str, Any], pooling: str
) -> None:
    folder = save_model(kind, tmp_path, **sizes)
    used = heard(monkeypatch, blocks, "block_attention", lambda query, *_: query.dtype)
    _, expected = encoded(folder, pooling, "float32")
    assert not used
    encoder, vectors = encoded(folder, pooling, "bfloat16")
    assert bool(used) is not is_causal(encoder)
    assert set(used) <= {torch.bfloat16}
    monkeypatch.setattr(blocks, "block_attention", by_torch)
    _, usual = encoded(folder, pooling, "bfloat16")
    error, usual_error = (np.linalg.norm(each - expected, axis=1).mean() for each in (vectors, usual))
    assert error <= 1.25 * usual_error
    used.clear()
    encoder.vectors_of(encoder.tokens_of(TEXTS, "documents"), np.arange(2), "documents")
    assert not used  # with gradients


def is_causal(encoder: TransformersEncoder) -> bool:
    """Test whether a token of the model sees none of those behind it."""
    return any(getattr(module, "is_causal", False) for module in encoder.model.modules())


def test_other_processors_attend_as_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = heard(monkeypatch, AttentionInterface, "register", lambda *names: names)
    for capabilities in ({}, {"avx512_bf16": True, "amx_bf16": True}):
        with processor_of(AMD):
            monkeypatch.setattr(torch.cpu, "get_capabilities", lambda has=capabilities: has)
            blocks.attends_in_blocks.cache_clear()
            blocks.attend_in_blocks()
    blocks.attends_in_blocks.cache_clear()
    assert not registered
