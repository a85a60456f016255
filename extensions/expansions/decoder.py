"""A T5 decoder that writes many texts for each document, one token of each at a time.

``generate`` of transformers copies a document once for every text written for it, and continues finished texts until the longest
is finished. Here the texts of a document share its keys and values, which are computed and stored once, and finished texts leave
the batch. The modules, and so the arithmetic, are those of transformers.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from beirflow.core.errors import ModelError

GROWTH = 16  # number of places for tokens that are added to the memory of a batch at a time: most queries are short
PROBE_TOLERANCE = 64.0  # largest difference of logits from transformers' own, in units of the precision's rounding
PROBE = ((5, 7, 6, 3), (9, 5, 1, 1))  # tokens of two documents; of the second only the first two are there
PROBE_TEXTS = ((1, 4, 8), (1, 2, 6), (1, 3, 3), (1, 9, 0))  # tokens of two texts of each


@dataclass
class Written:
    """Documents and the texts that are being written for them: d documents, w texts each."""

    keys: list[torch.Tensor]  # by layer, of the documents' tokens, of shape (d, heads, tokens, size)
    values: list[torch.Tensor]  # likewise
    mask: torch.Tensor  # where a document has a token, bool of shape (d, 1, 1, tokens)
    own_keys: list[torch.Tensor]  # by layer, of the texts' tokens, of shape (d * w, heads, places, size)
    own_values: list[torch.Tensor]  # likewise
    width: int  # w
    length: int = 0  # tokens of each text so far

    def keep(self, documents: torch.Tensor, texts: torch.Tensor) -> None:
        """Keep only some documents, by places of shape (e,), and of each as many of its texts, by places of shape (e, v)."""
        rows = (documents[:, None] * self.width + texts).flatten()
        self.keys, self.values = ([each[documents] for each in of] for of in (self.keys, self.values))
        self.own_keys, self.own_values = ([each[rows] for each in of] for of in (self.own_keys, self.own_values))
        self.mask, self.width = self.mask[documents], texts.shape[1]


class Decoder:
    """The decoder of a T5ForConditionalGeneration.

    Raises ModelError if its logits are not those that transformers computes with it, as perhaps in another version.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.blocks = model, model.decoder.block
        self.heads, self.size = model.config.num_heads, model.config.d_kv
        self._check()

    @torch.inference_mode()
    def begin(self, ids: torch.Tensor, mask: torch.Tensor, width: int) -> Written:
        """Read documents for which ``width`` texts each are to be written, which have no token yet.

        Both ``ids`` and ``mask``, 1 for a token and 0 for padding, are int64 of shape (d, tokens).
        """
        hidden = self.model.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        attentions = [block.layer[1].EncDecAttention for block in self.blocks]
        keys, values = ([self._split(getattr(each, name)(hidden)) for each in attentions] for name in ("k", "v"))
        nothing = hidden.new_empty(len(ids) * width, self.heads, 0, self.size)
        own = [nothing] * len(attentions)
        return Written(keys, values, mask[:, None, None, :].bool(), list(own), list(own), width)

    @torch.inference_mode()
    def step(self, written: Written, tokens: torch.Tensor) -> torch.Tensor:
        """Read one more token of each text, int64 of shape (d, w); return logits of the next, float32 of shape (d, w, terms)."""
        place = written.length
        hidden = self.model.shared(tokens)
        first = self.blocks[0].layer[0].SelfAttention
        bias = first.compute_bias(1, place + 1, device=hidden.device, past_seen_tokens=place)
        if place == written.own_keys[0].shape[2]:
            for of in (written.own_keys, written.own_values):
                for layer, memory in enumerate(of):
                    of[layer] = _longer(memory)
        for layer, block in enumerate(self.blocks):
            hidden = self._read_text(block.layer[0], hidden, bias, written.own_keys[layer], written.own_values[layer], place)
            hidden = self._read_document(block.layer[1], hidden, written.keys[layer], written.values[layer], written.mask)
            hidden = block.layer[2](hidden)
        written.length += 1
        hidden = self.model.decoder.final_layer_norm(hidden)
        if getattr(self.model.config, "scale_decoder_outputs", False):  # which mT5 does not have
            hidden = hidden * self.model.model_dim**-0.5
        return self.model.lm_head(hidden).float()

    def _read_text(
        self, layer: Any, hidden: torch.Tensor, bias: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, place: int
    ) -> torch.Tensor:
        """Attend to the tokens of the same text, the new one among them."""
        own, normed = layer.SelfAttention, layer.layer_norm(hidden)
        rows = (-1, self.heads, self.size)
        keys[:, :, place], values[:, :, place] = own.k(normed).view(rows), own.v(normed).view(rows)
        query = own.q(normed).view(rows)[:, :, None]
        seen = slice(place + 1)
        # Torch's attention would compute with a block of queries, of which there is one. T5 does not divide by the root of the
        # size: its weights were initialised for that.
        scores = query.float() @ keys[:, :, seen].float().transpose(2, 3) + bias
        attended = scores.softmax(dim=-1).to(values.dtype) @ values[:, :, seen]
        return hidden + own.o(attended.reshape(*hidden.shape[:2], -1))

    def _read_document(
        self, layer: Any, hidden: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Attend to the document, from all its texts at once."""
        other = layer.EncDecAttention
        query = self._split(other.q(layer.layer_norm(hidden)))
        attended = scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=1.0)
        return hidden + other.o(attended.transpose(1, 2).reshape(*hidden.shape[:2], -1))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        """Split by head: from (d, n, heads * size) to (d, heads, n, size)."""
        return states.view(*states.shape[:2], self.heads, self.size).transpose(1, 2)

    def _check(self) -> None:
        """Compare the logits of a few tokens with those of transformers."""
        highest = self.model.config.vocab_size - 1
        ids = torch.tensor(PROBE, device=self.model.device).clamp(max=highest)
        mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=ids.device)
        texts = torch.tensor(PROBE_TEXTS, device=ids.device).clamp(max=highest)
        with torch.inference_mode():
            copies = {"input_ids": ids.repeat_interleave(2, 0), "attention_mask": mask.repeat_interleave(2, 0)}
            expected = self.model(**copies, decoder_input_ids=texts, use_cache=False).logits.float()
            written = self.begin(ids, mask, 2)
            by_steps = torch.stack([self.step(written, texts[:, place].view(2, 2)).flatten(0, 1) for place in range(3)], dim=1)
        apart = float((by_steps - expected).abs().max() / expected.abs().max().clamp_min(1e-30))
        if not apart <= PROBE_TOLERANCE * torch.finfo(self.model.dtype).eps:
            raise ModelError(
                f"the decoder of the {self.model.config.model_type} gives other logits than transformers does with it (off by"
                f" {apart:.1g} of the largest), or none that are finite; use precision float32, or the versions of envs/"
            )


def _longer(memory: torch.Tensor) -> torch.Tensor:
    """Return memory with places for more tokens."""
    rows, heads, places, size = memory.shape
    return torch.cat([memory, memory.new_zeros(rows, heads, max(GROWTH, places), size)], dim=2)
