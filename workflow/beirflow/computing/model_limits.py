"""The limits of a transformers model: number, range and types of tokens."""

import inspect
from pathlib import Path
from typing import Any

from beirflow.computing.packed_attention import first_position
from beirflow.computing.padding_check import PROBE_TEXT
from beirflow.files.errors import ModelError

UNLIMITED = 10**9
"""Tokens: more than any model reads. transformers writes larger numbers where there is no limit."""


def readable_tokens(model: Any) -> int:
    """Tokens of the longest text that a model has positions for; :data:`UNLIMITED` where it needs none."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    # XLNet says -1 for no limit.
    return UNLIMITED if positions is None or positions < 0 else positions - first_position(model)


def known_tokens(model: Any) -> int:
    """Tokens that a model has a vector for."""
    try:
        return len(model.get_input_embeddings().weight)
    except NotImplementedError:  # of a model with several towers, such as CLIP, or one that hashes characters, such as CANINE
        return int(getattr(model.config.get_text_config(), "vocab_size", UNLIMITED))


def refuse_token_types(tokenizer: Any, model: Any, folder: Path) -> None:
    """Refuse a tokenizer that gives a text other types than 0, which is what a model is handed that reads texts by themselves.

    Args:
        tokenizer: The tokenizer.
        model: The model.
        folder: Of both, for the message.

    Raises:
        ModelError: It does.
    """
    types = tokenizer(PROBE_TEXT).get("token_type_ids", ())
    if any(types) and "token_type_ids" in inspect.signature(model.forward).parameters:
        raise ModelError(f"the tokenizer in {folder} gives token types other than 0, which beirflow does not pass on")
