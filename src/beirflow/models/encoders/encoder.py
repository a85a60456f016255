"""Encoders: texts in, one float32 vector per text out."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.progress import Progress
from beirflow.data.document_text import Kind
from beirflow.models.card import Step, check_open, with_settings
from beirflow.models.card_files import read_card
from beirflow.models.computing.arrival import Arrival, NotFiniteError, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.chat_template import Frame
from beirflow.models.computing.failing import in_words
from beirflow.models.computing.model_limits import UNLIMITED
from beirflow.models.computing.packed_attention import can_pack, pack, positions
from beirflow.models.computing.pooling import pool, pool_packed
from beirflow.models.computing.text_model import Recorded, TextModel
from beirflow.models.encoders.backbone import Backbone
from beirflow.models.encoders.head import load_head
from beirflow.models.encoders.onnx_backbone import OnnxBackbone
from beirflow.models.encoders.static_embedding import StaticEmbedding
from beirflow.models.settings import ONNX, EncoderSettings
from beirflow.run.devices import compute_exactly

logger = logging.getLogger(__name__)

PROBE_TOKENS = 12
PACKED_TOLERANCE = 16.0
"""Largest difference of a packed text's vector from a padded one's, over its length, in units of the precision's rounding; causal
attention changes far more."""


class Encoder(Recorded, Protocol):
    """Anything that turns texts into vectors."""

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vector, for the record."""

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[np.ndarray]:
        """Encode texts in order, a window at a time, float32 of shape (texts, dim)."""


class TransformersEncoder(TextModel):
    """An encoder computed by torch: a model of transformers or a table of token vectors, pooling, and further modules.

    Texts are packed end to end on CUDA in half precision, where that gives the vectors of padded ones, and padded to the longest
    of their batch elsewhere. A text without tokens has zeros in place of its pooled tokens: an empty text, where the tokenizer
    adds no special tokens.

    The settings of the system override the files of the model; of a system with two models, the folder is that for the kind of
    text. ``backbone`` reads tokens, and ``model`` is the same as a module of torch, on the device. Raises ModelError if the model
    cannot be loaded, is not understood, or does not fit the settings.
    """

    window: ClassVar = 4096
    threads: ClassVar = 2  # the tokenizer uses all cores; a second window is tokenised while the ids of the first are copied

    def __init__(self, system: EncoderSettings, folder: Path, *, kind: Kind = "documents", **on: Any) -> None:
        super().__init__(system.name, **on)
        self._kind = kind
        with model_errors_of(self.budget.owner):
            self.card = with_settings(read_card(folder), system)
            needed = ("pooling", "query_prefix" if kind == "queries" else "document_prefix")
            check_open({key: self.card.open[key] for key in needed if key in self.card.open})
            self._load(folder, self.card.steps[kind], system.weights, auto=on["precision"] == "auto")
            if self.card.dimensions and self.card.dimensions > self._dim:
                raise ModelError(f"dimensions is {self.card.dimensions}, but a vector of this model has {self._dim}")

    def _load(self, folder: Path, steps: Sequence[Step], weights: str, *, auto: bool) -> None:
        """Load the modules of one kind of text; ``auto`` is whether the precision is the default and not configured."""
        compute_exactly()
        first, *others = steps
        pooling = next((step.settings for step in others if step.kind == "pooling"), {})
        self._modes: list[str] = pooling.get("modes", ["pooler" if first.settings["output"] == "vector" else "mean"])
        self._in_messages = "messages" in first.settings
        here = folder / first.folder
        self.backbone: Backbone | StaticEmbedding
        if first.kind == "transformer" and weights.endswith(ONNX):
            self.backbone = OnnxBackbone(here, steps, weights, self._modes, device=self.device)
            self._modes, self.dtype = self.backbone.modes, torch.float32  # modules after the graph are computed in float32
        elif first.kind == "transformer":
            self.backbone = Backbone(here, first, weights, self._modes, self.dtype)
        else:
            self.dtype = torch.float32 if auto else self.dtype  # a mean of vectors, which nothing makes faster
            self.backbone = StaticEmbedding(here, first, weights, self.dtype)
        self.model: Any = self.backbone.model.to(self.device).eval()
        self._head = load_head(folder, others, weights).to(self.device)
        self.packed = False  # the checks below compare padded texts
        self._fallback: dict[str, str] = {}
        self._frames = {kind: Frame(prompt) for kind, prompt in self.card.prompts.items()}
        if isinstance(self.backbone, Backbone):  # a table looks every word up by itself
            if self._in_messages:
                self._frames = self.backbone.chat_frames(self.card.prompts)
            self.assumed = self.backbone.assumptions(self.name)
            self.backbone.check_padding(lambda texts: self._vectors(texts, np.arange(len(texts.lengths))))
        if can_pack(self.model, self.device, self.dtype):
            self.packed = self.budget.packed = self._pack()
            self._fallback = {} if self.packed else {"attention": "padded"}
        with torch.inference_mode():
            self._pooled_dim = self._pooled(Tokens.of(0, [self._probe()[:1]]), np.arange(1)).shape[1]
            self._dim = self._nothing().shape[1]

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
        longest = min(self.max_length or UNLIMITED, PROBE_TOKENS + window)
        ids = list(islice(cycle(self._probe()), longest))
        # Two lengths, so that a text that attends beyond its end changes the other.
        texts, rows = Tokens.of(0, [ids[: -(-len(ids) // 2)], ids]), np.arange(2)
        padded = self._compute_padded(texts, rows)
        before = pack(self.model)
        try:
            packed = self._compute_packed(texts, rows)
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

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self.card.dimensions or self._dim

    @property
    def max_length(self) -> int | None:
        """Tokens after which a text is cut, special ones included; None for no limit."""
        return self.backbone.max_length

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions that the vectors are made with, for the record."""
        of_graph = self.backbone.made() if isinstance(self.backbone, OnnxBackbone) else {}
        return {**super().made(), **of_graph, **self._fallback}

    def computation(self) -> dict[str, Any]:
        """Return batches, threads, of a graph those with which it was opened, and processor, for the record."""
        of_model = isinstance(self.backbone, Backbone)
        return super().computation() if of_model else self.budget.computation(getattr(self.backbone, "threads", None))

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vector, for the record."""
        template = {"chat_template": self._frames[self._kind]._asdict()} if self._in_messages else {}
        return self.card.of_kind(self._kind) | {"max_length": self.max_length} | template

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim), in the order of the texts."""
        return self._whole(texts, "queries")

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n documents, float32 of shape (n, dim); fastest when texts of similar length are neighbours."""
        return self._whole(texts, "documents")

    def _whole(self, texts: Sequence[str], kind: Kind) -> np.ndarray:
        return np.concatenate([np.empty((0, self.dim), np.float32), *self.windows(texts, kind)])

    def tokens_of(self, texts: Sequence[str], kind: Kind) -> Tokens:
        """Return the token ids of all texts, with the prompt of their kind, for :meth:`vectors_of`."""
        windows = [self._tokenize(texts, kind, start) for start in range(0, len(texts), self.window)]
        ids, lengths = ([getattr(window, name) for window in windows] for name in ("ids", "lengths"))
        return Tokens(0, np.concatenate(ids), np.concatenate(lengths))

    def vectors_of(self, texts: Tokens, rows: np.ndarray, kind: Kind) -> torch.Tensor:
        """Encode the texts in ``rows``, none without tokens, in one batch, with gradients where torch computes them.

        Returns float32 of shape (rows, dim) on the device.
        """
        with in_words(int(texts.lengths[rows].max())):
            return self._vectors(texts, rows).float()

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[np.ndarray]:
        """Encode texts a window at a time, so that vectors can be written while the next are computed.

        Yields the vectors of the texts of a window, float32 of shape (texts, dim), in the order of the texts.
        Raises ModelError for tokens that the model does not know, NotFiniteError for a vector that is not finite.
        """
        return self.read_and_compute("encode", len(texts), kind, partial(self._tokenize, texts, kind), self._begin)

    def _tokenize(self, texts: Sequence[str], kind: Kind, start: int) -> Tokens:
        ids = self.backbone.token_ids(list(texts[start : start + self.window]), self._frames[kind])
        return Tokens.of(start, ids).check(self.backbone.vocabulary, self.budget.owner)

    @torch.inference_mode()
    def _begin(self, window: Tokens, progress: Progress) -> Callable[[], np.ndarray]:
        """Encode a window, float32 of shape (texts, dim) on the device, which on CUDA may still compute it."""
        if self.max_length is not None:
            self.truncated += int((window.lengths >= self.max_length).sum())
        vectors = torch.empty((len(window.lengths), self.dim), device=self.device)
        if len(without := np.flatnonzero(window.lengths == 0)):
            nothing = self._nothing()[:, : self.dim]
            vectors.index_copy_(0, send(without, self.device), nothing.expand(len(without), -1))
        for rows, parts in self.batches(window, partial(self._vectors, window), progress):
            vectors.index_copy_(0, send(rows, self.device), torch.cat(parts))
        return partial(_arrived, window.start, Arrival(vectors))

    def _nothing(self) -> torch.Tensor:
        """Return the vector of a text without tokens, all dimensions of it, of shape (1, dim)."""
        nothing: torch.Tensor = self._head(torch.zeros((1, self._pooled_dim), device=self.device))
        return nothing

    def _vectors(self, texts: Tokens, rows: np.ndarray) -> torch.Tensor:
        """Encode the texts in ``rows``, none without tokens, in one batch: float32 of shape (rows, dim) on the device.

        What follows the pooling is computed in float32.
        """
        finished: torch.Tensor = self._head(self._pooled(texts, rows))
        return finished[:, : self.card.dimensions]

    def _pooled(self, texts: Tokens, rows: np.ndarray) -> torch.Tensor:
        return (self._compute_packed if self.packed else self._compute_padded)(texts, rows)

    def _compute_padded(self, texts: Tokens, rows: np.ndarray) -> torch.Tensor:
        ids, mask = (send(array, self.device) for array in pad(texts, rows, self.backbone.padding))
        return pool(self._modes, self.backbone(ids, mask), mask)

    def _compute_packed(self, texts: Tokens, rows: np.ndarray) -> torch.Tensor:
        ids, places = texts.select(rows)
        lengths = texts.lengths[rows]
        bounds = send(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), self.device)
        output = self.model(
            input_ids=send(ids, self.device)[None],
            position_ids=send(positions(self.model, ids, places), self.device)[None],
            bounds=bounds,
            lengths=lengths.tolist(),
        )
        return pool_packed(self._modes, output, bounds, getattr(self.model, "pooler", None))


def _arrived(start: int, arrival: Arrival) -> np.ndarray:
    """Return the vectors of a window, which begins with the text ``start``: all are finite, or NotFiniteError is raised."""
    vectors = arrival.wait()
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise NotFiniteError(start + int(np.argmin(finite)))
    return vectors
