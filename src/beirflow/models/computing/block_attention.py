"""Attention in bfloat16 on processors where torch's own kernel for it multiplies slower than oneDNN does.

torch's kernel multiplies small blocks with MKL. Products of whole heads, which torch leaves to oneDNN, are several times as fast
with AVX512-BF16; with AMX, torch's kernel uses oneDNN itself.
"""

from functools import cache
from typing import Any

import torch

from beirflow.run.devices import prefers_onednn

PRODUCTS = 1 << 21  # of queries with keys in one block, which then stays in the processor's cache
OTHERS = ("position_bias", "cache", "softcap")  # keywords that only transformers' own function understands


@cache
def attends_in_blocks() -> bool:
    """Test whether this processor attends in bfloat16 faster in blocks than by torch's kernel."""
    has = torch.cpu.get_capabilities()
    return bool(prefers_onednn() and has.get("avx512_bf16") and not has.get("amx_bf16"))


def attend_in_blocks() -> None:
    """Let texts that are seen whole be attended in blocks in bfloat16, where that is faster, while nothing is trained.

    Not in decoders, whose products of queries and keys are often too large to be rounded.
    """
    if not attends_in_blocks():
        return
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    def attention(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **named: Any,
    ) -> tuple[torch.Tensor, None]:
        """Attend in the form that transformers calls."""
        causal = getattr(module, "is_causal", True) if named.get("is_causal") is None else named["is_causal"]
        usual = query.device.type == "cpu" and query.dtype == torch.bfloat16 and torch.is_inference_mode_enabled()
        if causal or not usual or any(named.get(name) is not None for name in OTHERS):
            attended: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **named)
            return attended
        return block_attention(query, key, value, attention_mask, named.get("scaling")), None

    AttentionInterface.register("sdpa", attention)


def block_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, scaling: float | None = None
) -> torch.Tensor:
    """Return softmax(query · key / root of the head dim + mask) · value, of shape (batch, tokens, heads, head dim).

    Query, key and value have the shape (batch, heads, tokens, head dim), of which keys and values may have fewer heads. ``mask``,
    of shape (batch, heads, queries, keys), or 1 for any of them, is added, or, if bool, true for the keys that a query sees.
    ``scaling`` is the factor of the products; None for the inverse root of the head dim. Products are rounded to the precision of
    the query, as in transformers' eager attention.
    """
    batch, heads, queries, dim = query.shape
    query = query * (dim**-0.5 if scaling is None else scaling)
    key, value = (states.repeat_interleave(heads // states.shape[1], dim=1) for states in (key, value))
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, torch.finfo(query.dtype).min)
        mask = mask.expand(batch, -1, queries, -1)
    attended = torch.empty((batch, queries, heads, value.shape[3]), dtype=query.dtype)
    of_row = heads * key.shape[2]
    texts, rows = max(1, PRODUCTS // (of_row * queries)), max(1, PRODUCTS // of_row)
    for text in range(0, batch, texts):
        keys, values = key[text : text + texts].transpose(2, 3), value[text : text + texts]
        for row in range(0, queries, rows):
            block = (slice(text, text + texts), slice(None), slice(row, row + rows))
            products = query[block] @ keys
            if mask is not None:
                products += mask[block]
            attended[block[0], block[2]] = (products.softmax(dim=-1) @ values).transpose(1, 2)
    return attended
