"""Attention text by text, in place of the kernel that packed texts need."""

import torch

from beirflow.models.computing.packed_attention import Seen


def attend_in_turn(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bounds: torch.Tensor, _: int, seen: Seen
) -> torch.Tensor:
    """Attend as ``attend`` of the package, on any device."""
    states = (torch.split(each.transpose(0, 1), bounds.diff().tolist(), dim=1) for each in (query, key, value))
    texts = []
    for one, other, third in zip(*states, strict=True):
        places = torch.arange(one.shape[1])
        distance = places[:, None] - places  # from a token to an earlier one, which it may see
        mask = distance.abs() < (len(places) if seen.window is None else seen.window)
        mask &= distance >= 0 if seen.causal else True
        texts.append(torch.nn.functional.scaled_dot_product_attention(one, other, third, attn_mask=mask, enable_gqa=True))
    return torch.cat(texts, dim=1).transpose(0, 1)
