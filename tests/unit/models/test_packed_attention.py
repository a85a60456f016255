"""Packed texts have the vectors of padded ones."""

from pathlib import Path

import numpy as np
import pytest
import torch
from beirflow.models import encoder as encoder_module
from beirflow.models.encoder import TransformersEncoder
from beirflow.models.packed_attention import MODEL_TYPES, can_pack, packed_attention
from beirflow.models.settings import EncoderSettings
from tiny_bert import WORDS, save_tiny_bert
from transformers import AutoConfig, AutoModel

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in [5, 1, 60, 0, 17, 17, 3, 40, 2, 61, 8, 30, 0, 12, 12, 50, 1, 9, 25, 6]]


def save_model(model_type: str, folder: Path) -> Path:
    """A model of a type with random weights, with the tokenizer of the tiny BERT."""
    save_tiny_bert(folder)
    bert = AutoConfig.from_pretrained(folder).to_dict()
    shared = {name: bert[name] for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")}
    torch.manual_seed(1)
    config = AutoConfig.for_model(
        model_type, **shared, intermediate_size=64, max_position_embeddings=70, pad_token_id=0, initializer_range=0.5
    )
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def encode(folder: Path, token_budget: int = 4096, **fields: object) -> np.ndarray:
    system = EncoderSettings(name="tiny", model=str(folder), **{"max_length": 64, **fields})
    encoder = TransformersEncoder(system, folder, device="cpu", precision="float32", token_budget=token_budget)
    return encoder.encode_corpus(TEXTS)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_packed_texts_have_the_vectors_of_padded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str, pooling: str
) -> None:
    folder = save_model(model_type, tmp_path)
    padded = encode(folder, pooling=pooling)
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: True)
    for token_budget in (1, 100, 4096):
        np.testing.assert_allclose(encode(folder, token_budget, pooling=pooling), padded, atol=2e-5, rtol=0)


def test_running_out_of_memory_packed_lowers_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_model("bert", tmp_path)
    expected = encode(folder)
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: True)
    compute = TransformersEncoder._compute_packed

    def limited(self: TransformersEncoder, window: encoder_module.Tokens, rows: np.ndarray) -> torch.Tensor:
        if window.lengths[rows].sum() > 100:
            raise torch.OutOfMemoryError
        return compute(self, window, rows)

    monkeypatch.setattr(TransformersEncoder, "_compute_packed", limited)
    np.testing.assert_allclose(encode(folder), expected, atol=2e-5, rtol=0)


def test_attention_is_scaled_as_the_model_says() -> None:
    query, key, value = torch.randn(3, 1, 2, 5, 8)
    bounds = torch.tensor([0, 3, 5], dtype=torch.int32)
    found, weights = packed_attention(torch.nn.Identity(), query, key, value, None, 0.3, bounds=bounds, lengths=[3, 2])
    assert weights is None
    for text in (slice(0, 3), slice(3, 5)):
        products = query[0, :, text] @ key[0, :, text].transpose(1, 2) * 0.3
        expected = (products.softmax(dim=-1) @ value[0, :, text]).transpose(0, 1)
        torch.testing.assert_close(found[0, text], expected)


def test_only_known_models_are_packed_on_cuda_in_half_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    model = AutoModel.from_pretrained(save_tiny_bert(tmp_path))
    cuda = torch.device("cuda")
    assert can_pack(model, cuda, torch.bfloat16)
    assert not can_pack(model, cuda, torch.float32)
    assert not can_pack(model, torch.device("cpu"), torch.bfloat16)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert not can_pack(model, cuda, torch.float16)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    model.config.num_attention_heads = 8
    assert not can_pack(model, cuda, torch.bfloat16)
    model.config.num_attention_heads = 2
    assert can_pack(model, cuda, torch.bfloat16)
    model.config.model_type = "mpnet"
    assert not can_pack(model, cuda, torch.bfloat16)
