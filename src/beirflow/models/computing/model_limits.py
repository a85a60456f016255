"""The limits of a transformers model: number, range and types of tokens."""

import inspect
import logging
from itertools import chain
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.models.computing.batching import UNLIMITED as UNLIMITED
from beirflow.models.computing.packed_attention import first_position
from beirflow.models.computing.padding_check import PROBE_TEXT

logger = logging.getLogger(__name__)


def readable_tokens(model: Any) -> int:
    """Return the tokens of the longest text that a model was made for; :data:`UNLIMITED` without such a number."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    # XLNet says -1 for no limit.
    return UNLIMITED if positions is None or positions < 0 else positions - first_position(model)


def check_length(model: Any, tokens: int) -> None:
    """Refuse a length of texts that a model cannot read, or reads differently in different batches.

    A table of positions ends. Models that rotate by positions or use distances between them also read longer texts than they were
    made for, as in sentence-transformers. The length includes special tokens.
    """
    readable, same_rotation = readable_tokens(model), _tokens_of_one_rotation(model.config.get_text_config())
    if tokens > same_rotation:
        raise ModelError(
            f"texts may have {tokens} tokens, and after {same_rotation} the model rotates the positions of all texts of a batch"
            f" differently (rope_parameters in config.json), so that no result is the right one; set max_length: {same_rotation}"
        )
    if tokens <= readable:
        return
    if _has_position_table(model, readable):
        raise ModelError(f"max_length is {tokens}, but the model reads at most {readable} tokens; set another max_length")
    logger.warning("max_length is %d, and the model was made for at most %d tokens (max_position_embeddings)", tokens, readable)


def _tokens_of_one_rotation(config: Any) -> int:
    """Return the tokens of the longest text of a batch up to which the rotation of positions is the same."""
    rotation = getattr(config, "rope_parameters", None) or {}
    of_layers = [each for each in rotation.values() if isinstance(each, dict)]  # some models have one for each type of layer
    lengths = [UNLIMITED]
    for rope in (rotation, *of_layers):
        kind = str(rope.get("rope_type"))
        if kind == "longrope":
            lengths.append(rope["original_max_position_embeddings"])
        elif "dynamic" in kind:
            lengths.append(config.max_position_embeddings)
    return min(lengths)


def _has_position_table(model: Any, positions: int) -> bool:
    """Tell whether some table of the model has a row for each position; ``wpe`` is its name in GPT-2."""
    tensors = chain(model.named_parameters(), model.named_buffers())
    return any(tensor.ndim > 1 and len(tensor) >= positions for name, tensor in tensors if "position" in name or "wpe." in name)


def known_tokens(model: Any) -> int:
    """Return the number of tokens that a model has a vector for."""
    try:
        return len(model.get_input_embeddings().weight)
    except NotImplementedError:  # of a model with several towers, such as CLIP, or one that hashes characters, such as CANINE
        return int(getattr(model.config.get_text_config(), "vocab_size", UNLIMITED))


def refuse_token_types(tokenizer: Any, model: Any, folder: Path) -> None:
    """Refuse a tokenizer that gives texts other types than 0, the only one that a model gets here."""
    types = tokenizer(PROBE_TEXT).get("token_type_ids", ())
    if any(types) and "token_type_ids" in inspect.signature(model.forward).parameters:
        raise ModelError(f"the tokenizer in {folder} gives token types other than 0, which beirflow does not pass on")
