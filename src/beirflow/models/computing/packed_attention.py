"""Attention over texts packed end to end in one sequence, each seeing only itself: no token is padding.

The model's code stays that of transformers, which looks its attention up by name and hands on the keywords that it does not know.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "beirflow_packed"

MODEL_TYPES = (
    *("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "modernbert", "nomic_bert", "eurobert"),
    *("llama", "mistral", "qwen2", "qwen3", "gemma3_text"),
)
"""Models that are known to work packed: each token sees all of its text, those before it, or a window."""


def can_pack(model: "PreTrainedModel", device: torch.device, dtype: torch.dtype) -> bool:
    """Test whether texts may be packed: torch's kernel requires NVIDIA's Ampere, half precision, and certain head sizes."""
    if device.type != "cuda" or torch.version.hip is not None or dtype == torch.float32:
        return False
    config = getattr(model, "config", None)
    if getattr(config, "model_type", None) not in MODEL_TYPES:
        return False
    head_dim = getattr(config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads
    return head_dim % 8 == 0 and head_dim <= 256 and torch.cuda.get_device_capability(device) >= (8, 0)


def first_position(model: "PreTrainedModel") -> int:
    """Return the position id of a text's first token, by which the longest text is shorter than the table of positions.

    Models like RoBERTa keep a row of that table for the padding, and their texts begin after it; others begin at 0.
    """
    tables = (module for name, module in model.named_modules() if name.endswith("position_embeddings"))
    of_padding = next((table.padding_idx for table in tables if getattr(table, "padding_idx", None) is not None), None)
    return 0 if of_padding is None else int(of_padding) + 1


def positions(model: "PreTrainedModel", ids: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return position ids of packed texts as the model counts them in padded ones, int64 of shape (tokens,).

    ``ids`` are the tokens of all texts, and ``places`` the place of each in its text. Models like RoBERTa do not count a padding
    token that a text spells out.
    """
    first = first_position(model)
    # The row before the first position belongs to the padding token, whose id it is.
    counted = ids != first - 1
    if not first or counted.all():
        return places + first
    so_far, begins = np.cumsum(counted), places == 0
    before = (so_far - counted)[begins][np.cumsum(begins) - 1]
    return np.where(counted, so_far - before, 0) + first - 1


def pack(model: "PreTrainedModel") -> str:
    """Switch a model to packed texts; return the name of its previous attention, for ``set_attn_implementation``."""
    from transformers import AttentionInterface

    before = str(model.config._attn_implementation)
    AttentionInterface.register(NAME, packed_attention)
    model.set_attn_implementation(NAME)
    return before


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    scaling: float | None = None,
    *,
    bounds: torch.Tensor,
    lengths: list[int],
    **named: Any,
) -> tuple[torch.Tensor, None]:
    """Attend each text to itself, in the form that transformers calls.

    Query, key and value have the shape (1, heads, tokens, head dim), of which keys and values may have fewer heads; the result
    (1, tokens, heads, head dim). ``bounds`` are the starts of n texts and the end of the last, int32 of shape (n + 1,), and
    ``lengths`` their tokens. ``scaling`` is the factor of the products; None for the inverse root of the head dim.
    ``sliding_window`` may be named: the tokens that each sees before it, itself included, and behind it if it sees those at all.
    """
    query, key, value = (states[0].transpose(0, 1) for states in (query, key, value))
    # The kernel scales by the root of the head dim itself, so only what differs from that is left to do.
    natural = query.shape[-1] ** -0.5
    if scaling not in (None, natural):
        query = query * (scaling / natural)
    seen = Seen(bool(getattr(module, "is_causal", False)), named.get("sliding_window"))
    return attend(query, key, value, bounds, max(lengths), seen)[None], None


class Seen(NamedTuple):
    """The tokens of its text that a token sees."""

    causal: bool  # none behind it
    window: int | None  # so many before it, itself included, and behind it; None for all


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bounds: torch.Tensor, longest: int, seen: Seen
) -> torch.Tensor:
    """Call the kernel of torch.nn.attention.varlen directly: its module would first import torch's compiler, for seconds.

    One split, so that the result for a text does not depend on the longest of its batch; torch 2.11 has no such argument. The
    products around it may: cuBLAS picks kernels by the number of tokens.
    """
    kernel = torch.ops.aten._flash_attention_forward
    dropout, return_debug_mask = 0.0, False
    named = {"num_splits": 1} if has_argument(kernel.default, "num_splits") else {}
    if seen.window is not None:
        named |= {"window_size_left": seen.window - 1, "window_size_right": 0 if seen.causal else seen.window - 1}
    attended, *_ = kernel(query, key, value, bounds, bounds, longest, longest, dropout, seen.causal, return_debug_mask, **named)
    return cast(torch.Tensor, attended)


def has_argument(operator: Any, name: str) -> bool:
    """Test whether an operator of torch has an argument in this version."""
    return any(argument.name == name for argument in operator._schema.arguments)
