"""Packed texts have the vectors of padded ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModel

from attend_in_turn import attend_in_turn
from beirflow.models.computing import packed_attention as module
from beirflow.models.computing.packed_attention import MODEL_TYPES, Seen, can_pack, has_argument, packed_attention
from beirflow.models.encoders import encoder as encoder_module
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from listening import short_of_memory
from tiny_bert import ARCHITECTURES, DECODER, WORDS, save_model, save_tiny_bert

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in [5, 1, 60, 0, 17, 17, 3, 40, 2, 61, 8, 30, 0, 12, 12, 50, 1, 9, 25, 6]]


def tiny_encoder(folder: Path, token_budget: int = 4096, **fields: Any) -> TransformersEncoder:
    system = EncoderSettings(name="tiny", model=str(folder), **{"max_length": 64, "pooling": "mean", **fields})
    return TransformersEncoder(system, folder, device="cpu", precision="float32", token_budget=token_budget)


def encode(folder: Path, token_budget: int = 4096, **fields: Any) -> np.ndarray:
    return tiny_encoder(folder, token_budget, **fields).encode_corpus(TEXTS)


@pytest.fixture
def packable(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let every model be packed from now on, if its vectors allow it."""
    monkeypatch.setattr(module, "attend", attend_in_turn)
    return lambda: monkeypatch.setattr(encoder_module, "can_pack", lambda *_: True)


@pytest.mark.parametrize(("model_type", "sizes", "pooling"), ARCHITECTURES)
def test_packed_texts_have_the_vectors_of_padded_ones(
    tmp_path: Path, packable: Callable[[], None], model_type: str, sizes: dict[str, Any], pooling: str
) -> None:
    folder = save_model(model_type, tmp_path, **sizes)
    padded = encode(folder, pooling=pooling)
    packable()
    for token_budget in (1, 100, 4096) if model_type == "bert" else (100,):
        encoder = tiny_encoder(folder, token_budget, pooling=pooling)
        assert encoder.packed
        np.testing.assert_allclose(encoder.encode_corpus(TEXTS), padded, atol=2e-5, rtol=0)


def test_each_model_that_is_packed_is_compared() -> None:
    assert {model_type for model_type, _, _ in ARCHITECTURES} == {*MODEL_TYPES}


def forget_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "attend", lambda *args: attend_in_turn(*args[:-1], args[-1]._replace(window=None)))


def refuse_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("Unknown keyword argument 'num_splits'\nDeclaration: …")

    monkeypatch.setattr(module, "attend", refused)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (forget_the_window, "packed texts have other vectors than padded ones"),
        (refuse_an_argument, "texts cannot be packed (Unknown keyword argument 'num_splits'); texts are padded"),
    ],
)
def test_a_model_that_cannot_be_packed_is_padded_with_a_warning_and_a_record(
    tmp_path: Path,
    packable: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    change: Callable[[pytest.MonkeyPatch], None],
    problem: str,
) -> None:
    """A window of 40 tokens shows in a probe that is longer than it."""
    pooling, folder = "mean", save_model("mistral", tmp_path, **DECODER, sliding_window=40)
    change(monkeypatch)
    usual = tiny_encoder(folder, pooling=pooling)
    assert "attention" not in usual.made()
    packable()
    encoder = tiny_encoder(folder, pooling=pooling)
    assert not encoder.packed
    assert encoder.made() == usual.made() | {"attention": "padded"}
    [warning] = [each for each in caplog.records if each.levelname == "WARNING"]
    assert problem in warning.getMessage()
    np.testing.assert_array_equal(encoder.encode_corpus(TEXTS), usual.encode_corpus(TEXTS))


@pytest.mark.parametrize("max_length", [1, 2, 64])
def test_a_model_whose_packed_texts_have_the_same_vectors_is_packed(
    tiny_bert: Path, packable: Callable[[], None], max_length: int
) -> None:
    packable()
    encoder = tiny_encoder(tiny_bert, max_length=max_length)
    assert encoder.packed
    assert "attention" not in encoder.made()


@pytest.mark.parametrize(("model_type", "padding"), [("bert", 0), ("roberta", 0), ("roberta", 9), ("xlm-roberta", 0)])
def test_a_text_that_spells_the_padding_out_is_packed_as_it_is_padded(
    tmp_path: Path, packable: Callable[[], None], monkeypatch: pytest.MonkeyPatch, model_type: str, padding: int
) -> None:
    """RoBERTa gives no position to its padding token, wherever it stands."""
    folder = save_model(model_type, tmp_path, pad_token_id=padding)
    texts = ["w1 [PAD] w2 w5 w3", "[PAD] w5 [PAD]", "w4", "w5"]
    padded = tiny_encoder(folder, max_length=50).encode_corpus(texts)
    packable()
    monkeypatch.setattr(TransformersEncoder, "_pack", lambda self: bool(module.pack(self.model)))
    np.testing.assert_allclose(tiny_encoder(folder, max_length=50).encode_corpus(texts), padded, atol=2e-5, rtol=0)


@pytest.mark.parametrize("splits", [True, False])
def test_a_text_is_computed_in_one_split_whatever_the_longest_if_torch_has_such_an_argument(
    splits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch 2.11 has none, and would refuse it."""
    kernel = torch.ops.aten._flash_attention_forward.default
    assert has_argument(kernel, "num_splits")  # in the version that these tests run with
    assert not has_argument(kernel, "no such argument")
    monkeypatch.setattr(module, "has_argument", lambda *_: splits)
    states = torch.empty(5, 2, 8, dtype=torch.bfloat16, device="meta")
    bounds = torch.empty(3, dtype=torch.int32, device="meta")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is kernel:
                calls.append((args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Calls():
        for seen in (Seen(False, None), Seen(True, None), Seen(True, 4), Seen(False, 4)):
            assert module.attend(states, states, states, bounds, 3, seen).shape == states.shape
    assert all(args[3] is args[4] is bounds for args, _ in calls)
    assert [args[5:] for args, _ in calls] == [(3, 3, 0.0, causal, False) for causal in (False, True, True, False)]
    windows = [{}, {}, {"window_size_left": 3, "window_size_right": 0}, {"window_size_left": 3, "window_size_right": 3}]
    assert [keywords for _, keywords in calls] == [({"num_splits": 1} if splits else {}) | window for window in windows]


def test_running_out_of_memory_packed_lowers_the_budget(
    tmp_path: Path, packable: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_model("bert", tmp_path)
    expected = encode(folder)
    packable()
    short_of_memory(
        monkeypatch, TransformersEncoder, "_compute_packed", lambda _, window, __, rows: window.lengths[rows].sum() > 100
    )
    np.testing.assert_allclose(encode(folder), expected, atol=2e-5, rtol=0)


def test_attention_is_scaled_as_the_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "attend", attend_in_turn)
    query, key, value = torch.randn(3, 1, 2, 5, 8)
    bounds = torch.tensor([0, 3, 5], dtype=torch.int32)
    found, weights = packed_attention(torch.nn.Identity(), query, key, value, None, 0.3, bounds=bounds, lengths=[3, 2])
    assert weights is None
    for text in (slice(0, 3), slice(3, 5)):
        products = query[0, :, text] @ key[0, :, text].transpose(1, 2) * 0.3
        expected = (products.softmax(dim=-1) @ value[0, :, text]).transpose(0, 1)
        torch.testing.assert_close(found[0, text], expected)


def test_only_known_models_are_packed_on_cuda_in_half_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, cuda = AutoModel.from_pretrained(save_tiny_bert(tmp_path)), torch.device("cuda")

    def packs(device: torch.device = cuda, dtype: torch.dtype = torch.bfloat16, capability: Any = (8, 0), **config: Any) -> bool:
        for name, value in ({"num_attention_heads": 2, "model_type": "bert"} | config).items():
            setattr(model.config, name, value)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
        return can_pack(model, device, dtype)

    assert packs()
    assert packs(capability=(9, 0))
    assert not packs(dtype=torch.float32)
    assert not packs(torch.device("cpu"))
    assert not packs(dtype=torch.float16, capability=(7, 5))
    assert not packs(num_attention_heads=8)
    assert packs(num_attention_heads=8, head_dim=16)
    assert not packs(head_dim=12)
    assert not packs(model_type="mpnet")
