"""The transformers encoder, against a BERT that is written out here."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import AutoTokenizer
from transformers.modeling_outputs import BaseModelOutputWithPooling

from attend_in_turn import attend_in_turn
from beirflow.core.errors import ModelError
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.pooling import pool
from beirflow.models.encoders import encoder as encoder_module
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from beirflow.run.devices import choose_device, choose_precision
from listening import short_of_memory
from pairs import pairs
from tiny_bert import SPECIAL, WORDS, change_weights, having_row, save_model, without
from zoo import change_json

HEADS = 2
RNG = np.random.default_rng(0)
LENGTHS = [5, 1, 62, 0, 17, 17, 3, 40, 2, 61, 8, 30, 0, 12, 12, 50, 1, 9, 25, 6]
TEXTS = [" ".join(RNG.choice(WORDS[10:], length)) for length in LENGTHS]
"""Mixed lengths, two of them empty; none is cut at 64 tokens, CLS and SEP included."""


def tiny_encoder(folder: Path, precision: str = "float32", token_budget: int = 4096, **fields: Any) -> TransformersEncoder:
    system = EncoderSettings(name="tiny", model=str(folder), **{"max_length": 64, "pooling": "mean", **fields})
    return TransformersEncoder(system, folder, device="cpu", precision=precision, token_budget=token_budget)


def token_ids(text: str, max_length: int = 64) -> list[int]:
    """CLS, a token a word, SEP."""
    words = text.split()[: max_length - 2]
    return [SPECIAL.index("[CLS]"), *(len(SPECIAL) + WORDS.index(word) for word in words), SPECIAL.index("[SEP]")]


def bert(weights: Mapping[str, torch.Tensor], ids: Sequence[int]) -> torch.Tensor:
    """The last hidden state of one text without padding, in float64 (Devlin et al. 2019; Vaswani et al. 2017)."""
    weights = {name: value.double() for name, value in weights.items()}

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def layer_norm(x: torch.Tensor, name: str) -> torch.Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        scaled = centred / torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    words, positions, types = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    hidden = layer_norm(words[list(ids)] + positions[: len(ids)] + types[0], "embeddings.LayerNorm")
    dim = hidden.shape[1] // HEADS
    layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}
    for layer in (f"encoder.layer.{i}" for i in range(len(layers))):
        query, key, value = (linear(hidden, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for head in (slice(i * dim, (i + 1) * dim) for i in range(HEADS)):
            attention = torch.softmax(query[:, head] @ key[:, head].T / math.sqrt(dim), dim=-1)
            heads.append(attention @ value[:, head])
        attended = linear(torch.cat(heads, dim=1), f"{layer}.attention.output.dense")
        hidden = layer_norm(hidden + attended, f"{layer}.attention.output.LayerNorm")
        inner = linear(hidden, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        hidden = layer_norm(hidden + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return hidden


def reference(folder: Path, texts: Sequence[str], pooling: str = "mean", max_length: int = 64) -> np.ndarray:
    weights = load_file(folder / "model.safetensors")
    rows = []
    for text in texts:
        hidden = bert(weights, token_ids(text, max_length))
        dense = torch.tanh(hidden[0] @ weights["pooler.dense.weight"].double().T + weights["pooler.dense.bias"].double())
        rows.append({"mean": hidden.mean(dim=0), "cls": hidden[0], "pooler": dense}[pooling])
    return torch.stack(rows).numpy()


@pytest.mark.parametrize(("pooling", "tolerance"), [("mean", 1e-5), ("cls", 1e-5), ("pooler", 3e-5)])
def test_vectors_are_those_of_a_bert_written_out(tiny_bert: Path, pooling: str, tolerance: float) -> None:
    vectors = tiny_encoder(tiny_bert, pooling=pooling).encode_corpus(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), 32))
    assert np.abs(vectors - reference(tiny_bert, TEXTS, pooling)).max() < tolerance


@pytest.mark.parametrize("max_length", [3, 8, 64])
def test_texts_are_cut_at_the_maximum_length_and_counted(tiny_bert: Path, max_length: int) -> None:
    encoder = tiny_encoder(tiny_bert, max_length=max_length)
    assert np.abs(encoder.encode_corpus(TEXTS) - reference(tiny_bert, TEXTS, max_length=max_length)).max() < 1e-5
    kept = [min(length + 2, max_length) for length in LENGTHS]
    assert encoder.tokens == sum(kept)
    assert encoder.truncated == kept.count(max_length)


@pytest.mark.parametrize("token_budget", [1, 7, 64])
def test_vectors_and_their_order_do_not_depend_on_the_budget(tiny_bert: Path, token_budget: int) -> None:
    vectors = tiny_encoder(tiny_bert, token_budget=token_budget).encode_corpus(TEXTS)
    np.testing.assert_allclose(vectors, tiny_encoder(tiny_bert).encode_corpus(TEXTS), rtol=0, atol=1e-5)


def test_more_texts_than_a_window_keep_their_order(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransformersEncoder, "window", 8)
    encoder, expected = tiny_encoder(tiny_bert), reference(tiny_bert, TEXTS)
    for count in (7, 8, 9, 20):
        assert np.abs(encoder.encode_corpus(TEXTS[:count]) - expected[:count]).max() < 1e-5
    assert encoder.encode_queries([]).shape == (0, 32)


@pytest.mark.parametrize("side", ["left", "right"])
def test_ids_are_those_that_the_tokenizer_gives(own_bert: Path, side: str) -> None:
    change_json(own_bert / "tokenizer_config.json", truncation_side=side)
    plain = AutoTokenizer.from_pretrained(own_bert)
    expected = plain(TEXTS, truncation=True, max_length=7)["input_ids"]
    assert [*tiny_encoder(own_bert, max_length=7).backbone.token_ids(TEXTS)] == expected


@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 2.0**-5), ("float16", 2.0**-8)])
def test_half_precision_is_near_float32(tiny_bert: Path, precision: str, tolerance: float) -> None:
    expected = reference(tiny_bert, TEXTS)
    vectors = tiny_encoder(tiny_bert, precision).encode_corpus(TEXTS)
    error = np.linalg.norm(vectors - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert vectors.dtype == np.float32
    assert 0 < error.max() < tolerance


def test_the_mean_is_accumulated_in_float32() -> None:
    hidden = torch.ones((1, 1001, 1), dtype=torch.bfloat16)
    hidden[0, 0] = 256.0
    output = BaseModelOutputWithPooling(last_hidden_state=hidden)
    assert pool(["mean"], output, torch.ones((1, 1001), dtype=torch.long)).item() == pytest.approx((256 + 1000) / 1001, rel=1e-6)


@pytest.mark.parametrize(("value", "row"), [(math.nan, 0), (math.nan, 13), (math.inf, 13)])
def test_a_vector_that_is_not_finite_is_an_error_with_its_row(
    own_bert: Path, monkeypatch: pytest.MonkeyPatch, value: float, row: int
) -> None:
    change_weights(own_bert, having_row("embeddings.word_embeddings.weight", token_ids("w7")[1], value))
    monkeypatch.setattr(TransformersEncoder, "window", 8)
    with pytest.raises(NotFiniteError) as caught:
        tiny_encoder(own_bert).encode_corpus([*TEXTS[:row], "w1 w7", *TEXTS[row:], "w7"])
    assert caught.value.row == row


def limit_memory(tokens: int, monkeypatch: pytest.MonkeyPatch, error: type[Exception] = torch.OutOfMemoryError) -> None:
    """Let batches of more padded tokens fail as they do on a small device."""

    def is_too_much(_: TransformersEncoder, window: Tokens, rows: np.ndarray) -> bool:
        return len(rows) * window.lengths[rows].max() > tokens

    short_of_memory(monkeypatch, TransformersEncoder, "_compute_padded", is_too_much, error)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_running_out_of_memory_lowers_the_budget_and_changes_nothing_else(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    encoder = tiny_encoder(tiny_bert, token_budget=1024)
    limit_memory(100, monkeypatch, error)
    with caplog.at_level(logging.WARNING):
        vectors = encoder.encode_corpus(TEXTS)
    assert np.abs(vectors - reference(tiny_bert, TEXTS)).max() < 1e-5
    assert 100 / 2 <= encoder.budget.tokens <= 1024 / 2
    assert encoder.tokens == sum(length + 2 for length in LENGTHS)
    assert f"token budget of {encoder.budget.tokens}" in caplog.text
    limit_memory(50, monkeypatch)
    with pytest.raises(ModelError, match=r"system tiny: a text of 64 tokens does not fit.*max_length"):
        encoder.encode_corpus(TEXTS)


def test_other_errors_of_the_model_are_not_taken_for_a_lack_of_memory(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "pool", lambda *_: functional.linear(torch.ones(1, 2), torch.ones(1, 3)))
    said = r"system tiny: the model fails on texts of up to \d+ tokens \(RuntimeError: .*cannot be"
    with pytest.raises(ModelError, match=said):
        tiny_encoder(tiny_bert).encode_corpus(TEXTS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA here")
def test_cuda_where_there_is_none_is_explained() -> None:
    with pytest.raises(ModelError, match=r"device: found 'cuda'.*'auto' or 'cpu'"):
        choose_device("cuda")
    assert choose_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(("capabilities", "expected"), [({"avx512_bf16": True}, "bfloat16"), ({"amx_bf16": False}, "float32")])
def test_precision_auto_is_bfloat16_where_the_processor_computes_with_it(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert str(choose_precision("auto", torch.device("cpu"))) == f"torch.{expected}"


def test_weights_that_are_missing_are_named_unless_they_are_not_used(tiny_bert: Path, own_bert: Path) -> None:
    change_weights(own_bert, without("pooler."))
    assert np.abs(tiny_encoder(own_bert).encode_corpus(TEXTS) - reference(tiny_bert, TEXTS)).max() < 1e-5
    with pytest.raises(ModelError, match=r"system tiny.*no weights for pooler.dense.bias, pooler.dense.weight"):
        tiny_encoder(own_bert, pooling="pooler")
    change_weights(own_bert, without("encoder.layer.1."))
    with pytest.raises(
        ModelError, match=r"system tiny: .*model.safetensors has no weights for encoder\.layer\.1\..* and 11 others"
    ):
        tiny_encoder(own_bert)


@pytest.mark.parametrize(
    ("model_type", "padding"), [("roberta", 0), ("roberta", 1), ("xlm-roberta", 1), ("camembert", 1), ("mpnet", 1)]
)
def test_rows_of_the_position_table_that_no_text_reaches_do_not_count(tmp_path: Path, model_type: str, padding: int) -> None:
    """Positions of these models begin after the id of the padding, so the longest text is that much shorter."""
    folder = save_model(model_type, tmp_path, positions=66, pad_token_id=padding)
    change_json(folder / "tokenizer_config.json", model_max_length=10**6)
    longest = 66 - padding - 1
    with pytest.raises(ModelError, match=f"max_length is {longest + 1}, but the model reads at most {longest} tokens"):
        tiny_encoder(folder, max_length=longest + 1)
    encoder = tiny_encoder(folder, max_length=longest)
    assert np.isfinite(encoder.encode_corpus(["w1 " * 100])).all()
    assert encoder.truncated == 1


@pytest.mark.parametrize(("pooling", "packed", "normalize"), pairs(["mean", "cls", "pooler"], [False, True], [False, True]))
def test_a_text_without_tokens_has_a_vector_of_zeros(
    own_bert: Path, monkeypatch: pytest.MonkeyPatch, pooling: str, packed: bool, normalize: bool
) -> None:
    change_json(own_bert / "tokenizer.json", post_processor=None)
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: packed)
    monkeypatch.setattr("beirflow.models.computing.packed_attention.attend", attend_in_turn)
    encoder = tiny_encoder(own_bert, pooling=pooling, normalize=normalize)
    assert encoder.packed is packed
    texts = ["w1 w2 w3", "", "w4", "  "]
    vectors = encoder.encode_corpus(texts)
    assert not vectors[[1, 3]].any()
    np.testing.assert_allclose(vectors[[0, 2]], encoder.encode_corpus([texts[0], texts[2]]), atol=1e-6)
    assert not encoder.encode_corpus(texts[3:]).any()
    assert encoder.tokens == 8


@pytest.mark.parametrize(
    ("name", "content"), pairs(["config.json", "tokenizer.json", "model.safetensors"], [b"", b"{", b'{"a": 1}', b"\xff" * 100])
)
def test_a_damaged_file_is_an_error_that_names_the_folder(own_bert: Path, name: str, content: bytes) -> None:
    (own_bert / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"system tiny.*{own_bert}"):
        tiny_encoder(own_bert)


@pytest.mark.parametrize("model_type", ["bert", "sprung"])
def test_code_in_a_model_folder_never_runs(own_bert: Path, tmp_path: Path, model_type: str) -> None:
    traps = {"AutoConfig": "trap.Trap", "AutoModel": "trap.Trap", "AutoTokenizer": ["trap.Trap", "trap.Trap"]}
    change_json(own_bert / "config.json", model_type=model_type, auto_map=traps)
    change_json(own_bert / "tokenizer_config.json", tokenizer_class="Trap", auto_map=traps)
    (own_bert / "trap.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'sprung')!r}).touch()\nclass Trap: pass\n")
    with pytest.raises(ModelError, match=r"system tiny: .*auto_map.*its own code"):
        tiny_encoder(own_bert)
    assert not (tmp_path / "sprung").exists()
