"""Lengths of texts that models of transformers read."""

import logging
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from beirflow.core.errors import ModelError
from beirflow.models.computing.model_limits import UNLIMITED, check_length, readable_tokens

SIZES = {
    "vocab_size": 30,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
    "initializer_range": 0.5,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA = {"num_key_value_heads": 1, "head_dim": 16}
FACTORS = {"long_factor": [4.0] * 8, "short_factor": [1.0] * 8}
LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 20, "factor": 2.0, **FACTORS}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}


def model(model_type: str, **sizes: Any) -> Any:
    torch.manual_seed(1)
    return AutoModel.from_config(AutoConfig.for_model(model_type, **SIZES | sizes)).eval()


def first_token(model: Any, length: int) -> torch.Tensor:
    """The state of the first token in a batch whose longest text has a length; its own text has two."""
    ids = torch.arange(length).remainder(20).add(3).repeat(2, 1)
    mask = torch.ones_like(ids)
    mask[0, 2:] = 0
    with torch.inference_mode():
        return torch.as_tensor(model(input_ids=ids, attention_mask=mask).last_hidden_state[0, 1])


@pytest.mark.parametrize(
    ("model_type", "sizes"),
    [
        ("bert", {}),
        ("roberta", {}),
        ("distilbert", {}),
        ("mpnet", {}),
        ("gpt2", {"n_positions": 40}),
        ("gptj", {"rotary_dim": 8}),
        ("opt", {"word_embed_proj_dim": 32, "ffn_dim": 64}),
        ("roformer", {"embedding_size": 32}),
        ("xlm", {"emb_dim": 32, "n_layers": 1, "n_heads": 2}),
        ("deberta-v2", {}),
        ("longformer", {"attention_window": [8]}),
    ],
)
def test_a_table_of_positions_ends_where_the_model_fails(model_type: str, sizes: dict[str, Any]) -> None:
    """The model itself, of longer texts, is the reference."""
    loaded = model(model_type, **sizes)
    longest = readable_tokens(loaded)
    check_length(loaded, longest)
    with pytest.raises(ModelError, match=rf"max_length is {longest + 30}, but the model reads at most {longest} tokens"):
        check_length(loaded, longest + 30)
    first_token(loaded, longest)
    with pytest.raises((IndexError, RuntimeError)):
        first_token(loaded, longest + 30)


@pytest.mark.parametrize(
    ("model_type", "sizes"),
    [
        ("modernbert", {"cls_token_id": 1, "sep_token_id": 2}),
        ("nomic_bert", {}),
        ("qwen3", LLAMA),
        ("llama", {**LLAMA, "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}}),
        ("gemma3_text", LLAMA),
        ("gpt_neox", {}),
        ("deberta-v2", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}),
    ],
)
def test_a_model_without_a_table_reads_on_and_says_so(
    model_type: str, sizes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    loaded = model(model_type, **sizes)
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        check_length(loaded, 40)
        assert not caplog.records
        check_length(loaded, 70)
    assert "max_length is 70, and the model was made for at most 40 tokens" in caplog.text
    torch.testing.assert_close(first_token(loaded, 70), first_token(loaded, 2), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("rope", "longest"), [(LONGROPE, 20), (DYNAMIC, 40)])
def test_a_rotation_that_changes_with_the_longest_text_of_a_batch_is_refused(rope: dict[str, Any], longest: int) -> None:
    """Up to that length a token has the same state in every batch, beyond it another."""
    loaded = model("llama", **LLAMA, rope_parameters=rope)
    check_length(loaded, longest)
    alone = first_token(loaded, 2)
    torch.testing.assert_close(first_token(loaded, longest), alone, rtol=0, atol=1e-5)
    with pytest.raises(ModelError, match=rf"after {longest} the model rotates the positions .* set max_length: {longest}$"):
        check_length(loaded, longest + 1)
    assert (first_token(loaded, longest + 20) - alone).norm() > 1e-3 * alone.norm()


def test_a_rotation_of_some_layers_counts() -> None:
    default = {"rope_type": "default", "rope_theta": 10000.0}
    loaded = model("gemma3_text", **LLAMA)
    loaded.config.rope_parameters = {"sliding_attention": default, "full_attention": LONGROPE}
    with pytest.raises(ModelError, match="set max_length: 20"):
        check_length(loaded, 21)


def test_a_model_without_positions_reads_everything() -> None:
    t5 = AutoModel.from_config(AutoConfig.for_model("t5", vocab_size=30, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2))
    check_length(t5, UNLIMITED)
