"""Packed texts have the vectors of padded ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beirflow.computing import packed_attention as module
from beirflow.computing.batching import Tokens
from beirflow.computing.packed_attention import MODEL_TYPES, can_pack, has_argument, packed_attention
from beirflow.encoders import tower as tower_module
from beirflow.encoders.encoder import TransformersEncoder
from beirflow.encoders.tower import Tower
from beirflow.models.settings import EncoderSettings
from tiny_bert import WORDS, save_model, save_tiny_bert
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModel

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in [5, 1, 60, 0, 17, 17, 3, 40, 2, 61, 8, 30, 0, 12, 12, 50, 1, 9, 25, 6]]


def tiny_encoder(folder: Path, token_budget: int = 4096, **fields: Any) -> TransformersEncoder:
    system = EncoderSettings(name="tiny", model=str(folder), **{"max_length": 64, "pooling": "mean", **fields})
    return TransformersEncoder(system, folder, device="cpu", precision="float32", token_budget=token_budget)


def encode(folder: Path, token_budget: int = 4096, **fields: Any) -> np.ndarray:
    return tiny_encoder(folder, token_budget, **fields).encode_corpus(TEXTS)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_packed_texts_have_the_vectors_of_padded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str, pooling: str
) -> None:
    folder = save_model(model_type, tmp_path)
    padded = encode(folder, pooling=pooling)
    monkeypatch.setattr(tower_module, "can_pack", lambda *_: True)
    for token_budget in (1, 100, 4096):
        np.testing.assert_allclose(encode(folder, token_budget, pooling=pooling), padded, atol=2e-5, rtol=0)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_model_whose_packed_texts_have_other_vectors_is_padded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str, pooling: str
) -> None:
    """A decoder, whose tokens see those before them alone; and nothing refuses it before the vectors are compared."""
    folder = save_model(model_type, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"is_decoder": True}))
    padded = encode(folder, pooling=pooling)
    monkeypatch.setattr(tower_module, "can_pack", lambda *_: True)
    encoder = tiny_encoder(folder, pooling=pooling)
    assert not encoder.tower.packed
    np.testing.assert_array_equal(encoder.encode_corpus(TEXTS), padded)


@pytest.mark.parametrize("max_length", [1, 2, 64])
def test_a_model_whose_packed_texts_have_the_same_vectors_is_packed(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, max_length: int
) -> None:
    monkeypatch.setattr(tower_module, "can_pack", lambda *_: True)
    assert tiny_encoder(tiny_bert, max_length=max_length).tower.packed


@pytest.mark.parametrize(("model_type", "padding"), [("bert", 0), ("roberta", 0), ("roberta", 9), ("xlm-roberta", 0)])
def test_a_text_that_spells_the_padding_out_is_packed_as_it_is_padded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str, padding: int
) -> None:
    """RoBERTa gives no position to its padding token, wherever it stands."""
    folder = save_model(model_type, tmp_path, pad_token_id=padding)
    texts = ["w1 [PAD] w2 w5 w3", "[PAD] w5 [PAD]", "w4", "w5"]
    padded = tiny_encoder(folder, max_length=50).encode_corpus(texts)
    monkeypatch.setattr(tower_module, "can_pack", lambda *_: True)
    monkeypatch.setattr(Tower, "_pack", lambda self: bool(module.pack(self.model)))
    np.testing.assert_allclose(tiny_encoder(folder, max_length=50).encode_corpus(texts), padded, atol=2e-5, rtol=0)


class Calls(TorchDispatchMode):
    """Notes the arguments of torch's kernel for packed texts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.ops.aten._flash_attention_forward.default:
            self.found.append((args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def test_a_text_of_a_batch_is_computed_in_one_split_whatever_the_longest() -> None:
    states = torch.empty(5, 2, 8, dtype=torch.bfloat16, device="meta")
    bounds = torch.empty(3, dtype=torch.int32, device="meta")
    with Calls() as calls:
        attended = module._attend_on_cuda(states, states, states, bounds, [3, 2])
    assert attended.shape == states.shape
    [(args, keywords)] = calls.found
    assert args[3] is args[4] is bounds
    assert args[5:] == (3, 3, 0.0, False, False)
    assert keywords == {"num_splits": 1}


def test_running_out_of_memory_packed_lowers_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_model("bert", tmp_path)
    expected = encode(folder)
    monkeypatch.setattr(tower_module, "can_pack", lambda *_: True)
    compute = Tower._compute_packed

    def limited(self: Tower, window: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        if window.lengths[rows].sum() > 100:
            raise torch.OutOfMemoryError
        return compute(self, window, rows, left_out)

    monkeypatch.setattr(Tower, "_compute_packed", limited)
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
    model.config.is_decoder = True
    assert not can_pack(model, cuda, torch.bfloat16)
    model.config.is_decoder = False
    model.config.model_type = "mpnet"
    assert not can_pack(model, cuda, torch.bfloat16)


def test_an_argument_of_a_later_torch_is_left_out_where_there_is_none() -> None:
    kernel = torch.ops.aten._flash_attention_forward.default
    assert has_argument(kernel, "num_splits")  # in the version that these tests run with
    assert not has_argument(kernel, "no such argument")
