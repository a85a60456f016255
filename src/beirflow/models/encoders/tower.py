"""From token ids to vectors: a backbone, the pooling, and the modules after it."""

import logging
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.computing.arrival import send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.failing import in_words
from beirflow.models.computing.folder_tokenizer import assumed_tokens
from beirflow.models.computing.made import made_with
from beirflow.models.computing.model_limits import UNLIMITED
from beirflow.models.computing.packed_attention import can_pack, pack, positions
from beirflow.models.computing.pooling import pool, pool_packed
from beirflow.models.encoders.backbone import Backbone
from beirflow.models.encoders.head import load_head
from beirflow.models.encoders.onnx_backbone import OnnxBackbone
from beirflow.models.encoders.word_vectors import WordVectors
from beirflow.models.settings import ONNX
from beirflow.run.devices import compute_exactly

logger = logging.getLogger(__name__)

PROBE_TOKENS = 12
PACKED_TOLERANCE = 16.0
"""Largest difference of a packed text's vector from a padded one's, over its length, in units of the precision's rounding; causal
attention changes far more."""

HEADS_WITHOUT_VECTORS = (
    *(
        "cls.",
        "classifier.",
        "classification_head.",
        "qa_outputs.",
        "score.",
        "head.dense.",
        "head.norm.",
        "predictions.",
        "sop_classifier.",
    ),
    *("vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "lm_predictions.", "mask_predictions.", "mlm_head."),
    *("discriminator_predictions.", "generator_predictions.", "generator_lm_head.", "vision_model.", "visual_projection."),
    *("logit_scale", "final_logits_bias", "pred_layer.", "embed_out."),
)
"""Prefixes of the weights of heads that transformers loads beside a model."""


class Tower:
    """The loaded modules that one kind of text goes through.

    Texts are packed end to end on CUDA in half precision, where that gives the vectors of padded ones, and padded to the longest
    of their batch elsewhere. A table of vectors and a graph have a precision of their own; ``auto`` is whether ``dtype`` is the
    default and not configured. ``backbone`` reads tokens, and ``model`` is the same as a module of torch, on the device;
    ``max_length`` is the number of tokens after which a text is cut, special ones included, None for no limit; ``pooled_dim`` and
    ``dim`` are the dimensions before and after the modules behind the pooling. Raises ModelError if the model cannot be loaded,
    or is not understood.
    """

    def __init__(
        self, folder: Path, steps: Sequence[Step], weights: str, device: torch.device, dtype: torch.dtype, *, auto: bool
    ) -> None:
        compute_exactly()
        self._device, self.dtype = device, dtype
        first, *others = steps
        pooling = next((step.settings for step in others if step.kind == "pooling"), {})
        default = "pooler" if first.settings["output"] == "vector" else "mean"
        self._modes: list[str] = pooling.get("modes", [default])
        self._include_prompt: bool = pooling.get("include_prompt", True)
        here = folder / first.folder
        self.backbone: Backbone | WordVectors
        if first.kind == "transformer" and weights.endswith(ONNX):
            self.backbone = OnnxBackbone(here, steps, weights, self._modes, include_prompt=self._include_prompt, device=device)
            self._modes, self.dtype = self.backbone.modes, torch.float32  # modules after the graph are computed in float32
        elif first.kind == "transformer":
            self.backbone = Backbone(here, first, weights, self._modes, dtype)
        else:
            self.dtype = torch.float32 if auto else dtype  # a mean of vectors, which nothing makes faster
            self.backbone = WordVectors(here, first, weights, self.dtype)
        self.max_length = self.backbone.max_length
        self.model: Any = self.backbone.model.to(device).eval()
        self._check_unused(here / weights)
        self._head = load_head(folder, others, weights).to(device)
        self.packed = False  # the check below compares padded texts
        self._check_padding()
        may_pack = can_pack(self.model, device, self.dtype)
        self.packed = may_pack and self._pack()
        self._fallback = {"attention": "padded"} if may_pack and not self.packed else {}
        self._measure()

    def _check_unused(self, path: Path) -> None:
        """Refuse weights that may be meant to change vectors.

        A projection, a norm or attention behind the model may be applied by its own code, which transformers does not know.
        """
        unused = getattr(self.backbone, "unused", ())
        if strange := [name for name in unused if not name.startswith(HEADS_WITHOUT_VECTORS)]:
            problem = "weights that the model of config.json does not use, and that are of no head known to give no vectors"
            todo = "if they change vectors, name a class of your own in 'encoder', else save the model without them"
            raise ModelError(f"{path} has {problem}: {', '.join(strange[:5])}; {todo}")

    def _check_padding(self) -> None:
        """Refuse a model whose vector of a text depends on its batch; a table looks every word up by itself."""
        if isinstance(self.backbone, Backbone):
            self.backbone.check_padding(lambda texts: self.vectors(texts, np.arange(len(texts.lengths)), 0))

    @torch.inference_mode()
    def _measure(self) -> None:
        """Measure the dimensions before and after the modules behind the pooling, by a text of one token."""
        pooled = self._pooled(Tokens.of(0, [self._probe()[:1]]), np.arange(1), 0)
        self.pooled_dim, self.dim = pooled.shape[1], self.finish(pooled).shape[1]

    def _probe(self) -> list[int]:
        """Return some tokens that are no padding."""
        return [token for token in range(min(self.backbone.vocabulary, PROBE_TOKENS)) if token != self.backbone.padding]

    @torch.inference_mode()
    def _pack(self) -> bool:
        """Switch the model to packed texts, unless two short ones then have other vectors than padded.

        A configuration may ask for attention that packing does not do; a CPU, which pads, would have other vectors than a GPU.
        """
        # Longer than a window of attention, where the model has one.
        window = getattr(self.model.config, "sliding_window", None) or 0
        longest = min(self.backbone.max_length or UNLIMITED, PROBE_TOKENS + window)
        ids = list(islice(cycle(self._probe()), longest))
        # Two lengths, so that a text that attends beyond its end changes the other.
        texts, rows = Tokens.of(0, [ids[: -(-len(ids) // 2)], ids]), np.arange(2)
        padded = self._compute_padded(texts, rows, 0)
        before = pack(self.model)
        try:
            packed = self._compute_packed(texts, rows, 0)
        except (torch.AcceleratorError, torch.OutOfMemoryError):
            raise
        except (RuntimeError, TypeError, ValueError) as error:  # of the kernel, which versions of torch call differently
            problem = f"texts cannot be packed ({str(error).strip().partition(chr(10))[0]})"
        else:
            difference = float(((packed - padded).norm(dim=1) / padded.norm(dim=1)).max())
            if difference <= PACKED_TOLERANCE * torch.finfo(self.dtype).eps:
                return True
            problem = f"packed texts have other vectors than padded ones, by a share of {difference:.2g}"
        self.model.set_attn_implementation(before)
        logger.warning("%s; texts are padded", problem)
        return False

    def made(self, name: str) -> dict[str, Any]:
        """Return precision, device, versions and assumptions that the vectors of a system are made with, for the record."""
        of_graph = self.backbone.made() if isinstance(self.backbone, OnnxBackbone) else {}
        made = made_with(self._device, assumed_tokens(name, getattr(self.backbone, "tokenizer", None)))
        return {"precision": str(self.dtype).removeprefix("torch."), **made, **of_graph, **self._fallback}

    @property
    def threads(self) -> int | None:
        """Return the threads with which a graph was opened; None for torch, whose threads may change."""
        return self.backbone.threads if isinstance(self.backbone, OnnxBackbone) else None

    def shorten(self, max_length: int) -> None:
        """Cut texts after fewer tokens than before, where a transformer reads them."""
        if isinstance(self.backbone, Backbone):
            self.backbone.shorten(max_length)
            self.max_length = self.backbone.max_length

    def left_out(self, prompt: str) -> int:
        """Return the tokens at the beginning of each text that are not pooled: those of a prompt that the model excludes."""
        return 0 if self._include_prompt or not prompt else self.backbone.prompt_length(prompt)

    def vectors(self, texts: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        """Encode the texts in ``rows``, none without tokens, in one batch: float32 of shape (rows, dim) on the device.

        ``left_out`` tokens at the beginning of each are not pooled. Raises ModelError if the model's code fails.
        """
        return self.finish(self._pooled(texts, rows, left_out))

    def finish(self, pooled: torch.Tensor) -> torch.Tensor:
        """Apply the steps after the pooling, in float32: vectors of shape (n, pooled dim) to (n, dim)."""
        finished: torch.Tensor = self._head(pooled)
        return finished

    def _pooled(self, texts: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        """Return the pooled tokens of one batch, float32 of shape (rows, pooled dim)."""
        with in_words(int(texts.lengths[rows].max())):
            return (self._compute_packed if self.packed else self._compute_padded)(texts, rows, left_out)

    def _compute_padded(self, texts: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        ids, mask = (send(array, self._device) for array in pad(texts, rows, self.backbone.padding))
        return pool(self._modes, self.backbone(ids, mask), mask, left_out)

    def _compute_packed(self, texts: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        ids, places = texts.select(rows)
        lengths = texts.lengths[rows]
        bounds = send(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), self._device)
        output = self.model(
            input_ids=send(ids, self._device)[None],
            position_ids=send(positions(self.model, ids, places), self._device)[None],
            bounds=bounds,
            lengths=lengths.tolist(),
        )
        return pool_packed(self._modes, output, bounds, getattr(self.model, "pooler", None), left_out)
