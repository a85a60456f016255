"""Encoders: texts in, one float32 vector a text out."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from beirflow.files.background import map_ahead
from beirflow.files.errors import ModelError
from beirflow.files.progress import Progress
from beirflow.jobs.devices import choose_device, choose_precision, is_out_of_memory
from beirflow.models.backbone import Backbone
from beirflow.models.batching import Tokens, pad, plan
from beirflow.models.card import Kind, Step, with_settings
from beirflow.models.card_files import read_card
from beirflow.models.head import load_head
from beirflow.models.made import made_with
from beirflow.models.onnx_backbone import OnnxBackbone
from beirflow.models.packed_attention import can_pack, first_position, pack
from beirflow.models.pooling import pool, pool_packed
from beirflow.models.settings import ONNX, EncoderSettings
from beirflow.models.word_vectors import WordVectors

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 4096
"""Texts that are tokenised together and sorted by length before they are batched."""

TOKENIZER_THREADS = 2
"""The tokenizer itself uses all cores; a second window is tokenised while the ids of the first are copied."""

PROBE_TOKENS = 12
PACKED_TOLERANCE = 16.0
"""Of the difference of a packed text's vector from a padded one's, in units of the precision's rounding; causal attention changes
far more."""

AUTO_TOKEN_BUDGET = {"cpu": 4096, "cuda": 65536, "mps": 4096}


class Encoder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""

    @property
    def tokens(self) -> int | None:
        """Tokens encoded so far, padding not counted; None where that is not known."""

    @property
    def truncated(self) -> int | None:
        """Texts that were as long as the maximum, so probably cut; None where that is not known."""

    def made(self) -> dict[str, str]:
        """Precision, device and versions that the vectors are made with, for the record."""

    def described(self) -> dict[str, Any]:
        """How a text becomes a vector, for the record."""

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[tuple[int, np.ndarray]]:
        """Encode n texts in order: index of the first text of a window, and float32 of shape (texts, dim)."""


class NotFiniteError(ModelError):
    """An encoder computed infinity or not-a-number.

    Args:
        row: Index of the text.
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"the vector of text {row} is not finite")
        self.row = row


class TransformersEncoder:
    """An encoder that is computed by torch: a model of transformers or a table of word vectors, pooling, and what follows.

    Other threads tokenise the next windows of texts while the device computes, and finished vectors are copied off the device
    while it computes the next. Inside a window, texts are sorted by token count and batched up to a budget of tokens; they
    are packed end to end on CUDA in half precision, and padded to the longest of the batch elsewhere. A text without tokens has
    zeros in place of its pooled tokens: an empty text, where the tokenizer adds no special tokens.

    Args:
        system: The system; what its settings say wins over what the files of the model say.
        folder: Folder of the model; for a system with two models, of that of this kind of text.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, or ``auto``.
        kind: What is encoded, where the model treats queries and documents differently.

    Attributes:
        card: How texts are encoded.
        dim: Dimensions of a vector.
        max_length: Tokens after which a text is cut, special tokens included; None for no limit.
        tokens: Tokens encoded so far, padding not counted.
        truncated: Texts that were as long as the maximum, so probably cut.

    Raises:
        ModelError: The model cannot be loaded, is not understood, or cannot do what the system says.
    """

    def __init__(
        self,
        system: EncoderSettings,
        folder: Path,
        *,
        device: str,
        precision: str,
        token_budget: int | str,
        kind: Kind = "documents",
    ) -> None:
        self.system = system
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.token_budget = AUTO_TOKEN_BUDGET[self.device.type] if token_budget == "auto" else int(token_budget)
        self.tokens = self.truncated = 0
        self._kind = kind
        try:
            self.card = with_settings(read_card(folder), system)
            open_keys = {"pooling", "query_prefix" if kind == "queries" else "document_prefix"} & set(self.card.open)
            if problem := replace(self.card, open={key: self.card.open[key] for key in sorted(open_keys)}).problem():
                raise ModelError(problem)
            self._load(folder, self.card.steps[kind], system.weights, precision)
        except ModelError as error:
            raise ModelError(f"system {system.name}: {error}") from error
        self.packed = can_pack(self.model, self.device, self.dtype) and self._pack()
        self._measure()

    def _load(self, folder: Path, steps: tuple[Step, ...], weights: str, precision: str) -> None:
        """The backbone, how its tokens are pooled, and what follows."""
        first, *others = steps
        pooling = next((step.settings for step in others if step.kind == "pooling"), {})
        default = "pooler" if first.settings["output"] == "vector" else "mean"
        self._modes: list[str] = pooling.get("modes", [default])
        self._include_prompt: bool = pooling.get("include_prompt", True)
        here = folder / first.folder
        self.backbone: Backbone | WordVectors
        if first.kind == "transformer" and weights.endswith(ONNX):
            self.backbone = OnnxBackbone(here, steps, weights, self.device)
            self._modes, self.dtype = self.backbone.modes, torch.float32  # what follows the graph is computed in float32
        elif first.kind == "transformer":
            self.backbone = Backbone(here, first, weights, self._modes, self.dtype)
        else:
            self.dtype = torch.float32 if precision == "auto" else self.dtype  # a mean of vectors, which nothing makes faster
            self.backbone = WordVectors(here, first, weights, self.dtype)
        self.max_length = self.backbone.max_length
        self.model: Any = self.backbone.model.to(self.device).eval()
        self._head = load_head(folder, others, weights).to(self.device)

    @torch.inference_mode()
    def _measure(self) -> None:
        """Dimensions before and after what follows the pooling, from a text of one token."""
        ids = [token for token in range(min(self.backbone.vocabulary, PROBE_TOKENS)) if token != self.backbone.padding]
        pooled = self._pooled(Tokens.of(0, [ids[:1]]), np.arange(1), 0)
        self._pooled_dim, whole = pooled.shape[1], self._finish(pooled).shape[1]
        self.dim = self.card.dimensions or whole
        if self.dim > whole:
            raise ModelError(f"system {self.system.name}: dimensions is {self.dim}, but a vector of this model has {whole}")

    def made(self) -> dict[str, str]:
        """Precision, device and versions that the vectors are made with, for the record."""
        of_graph = self.backbone.made() if isinstance(self.backbone, OnnxBackbone) else {}
        return {"precision": str(self.dtype).removeprefix("torch."), **made_with(self.device), **of_graph}

    @torch.inference_mode()
    def _pack(self) -> bool:
        """Let the model attend to packed texts, unless two short ones then have other vectors than padded.

        A configuration may ask for attention that packing does not do; a CPU, which pads, would have other vectors than a GPU.
        """
        ids = [token for token in range(min(self.backbone.vocabulary, PROBE_TOKENS)) if token != self.backbone.padding]
        ids = ids[: self.backbone.max_length]
        texts, rows = Tokens.of(0, [ids[: -(-len(ids) // 2)], ids]), np.arange(2)
        padded = self._compute_padded(texts, rows, 0)
        before = pack(self.model)
        packed = self._compute_packed(texts, rows, 0)
        difference = float(((packed - padded).norm(dim=1) / padded.norm(dim=1)).max())
        if difference <= PACKED_TOLERANCE * torch.finfo(self.dtype).eps:
            return True
        self.model.set_attn_implementation(before)
        logger.info("packed texts have other vectors than padded ones, by a share of %.2g; texts are padded", difference)
        return False

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Encode queries.

        Args:
            texts: n queries.

        Returns:
            float32 of shape (n, dim), in the order of the texts.

        Raises:
            NotFiniteError: A vector is not finite.
        """
        return self._whole(texts, "queries")

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        """Encode documents.

        Args:
            texts: n documents; fastest when texts of similar length are neighbours.

        Returns:
            float32 of shape (n, dim), in the order of the texts.

        Raises:
            NotFiniteError: A vector is not finite.
        """
        return self._whole(texts, "documents")

    def described(self) -> dict[str, Any]:
        """How a text becomes a vector, for the record."""
        return self.card.of_kind(self._kind) | {"max_length": self.max_length}

    def _whole(self, texts: Sequence[str], kind: Kind) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start, window in self.windows(texts, kind):
            vectors[start : start + len(window)] = window
        return vectors

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[tuple[int, np.ndarray]]:
        """Encode texts a window at a time, so that vectors can be written while the next are computed.

        Args:
            texts: n texts.
            kind: ``queries`` or ``documents``.

        Yields:
            Index of the first text of a window, and the window's vectors, float32 of shape (texts, dim).

        Raises:
            NotFiniteError: A vector is not finite.
        """
        tokenize = partial(self._tokenize, texts, self.card.prompts[kind])
        left_out = self._left_out(kind)
        on_the_way: Arrival | None = None
        with Progress(f"encode with {self.system.name}", len(texts), kind, "tokens") as progress:
            for window in map_ahead(tokenize, range(0, len(texts), WINDOW_TEXTS), TOKENIZER_THREADS):
                arrival = Arrival(window.start, self._encode_window(window, progress, left_out))
                if on_the_way:
                    yield on_the_way.wait()
                on_the_way = arrival
            if on_the_way:
                yield on_the_way.wait()

    def shorten(self, max_length: int) -> None:
        """Cut texts after fewer tokens than before, where a transformer reads them."""
        if isinstance(self.backbone, Backbone):
            self.backbone.shorten(max_length)
            self.max_length = self.backbone.max_length

    def tokens_of(self, texts: Sequence[str], kind: Kind) -> Tokens:
        """Token ids of all texts at once, with the prompt of their kind, for :meth:`vectors_of`."""
        windows = [self._tokenize(texts, self.card.prompts[kind], start) for start in range(0, len(texts), WINDOW_TEXTS)]
        ids, lengths = ([getattr(window, name) for window in windows] for name in ("ids", "lengths"))
        return Tokens(0, np.concatenate(ids), np.concatenate(lengths))

    def vectors_of(self, texts: Tokens, rows: np.ndarray, kind: Kind) -> torch.Tensor:
        """Vectors of some texts in one batch, with gradients where torch computes them.

        Args:
            texts: What :meth:`tokens_of` gave; none of the rows is without tokens.
            rows: Which texts, int64 of shape (n,).
            kind: What they are.

        Returns:
            On the device, float32 of shape (n, dim).
        """
        return self._finish(self._pooled(texts, rows, self._left_out(kind)))[:, : self.dim].float()

    def _left_out(self, kind: Kind) -> int:
        """Tokens at the beginning of each text that are not pooled: those of a prompt, where the model leaves it out."""
        prompt = self.card.prompts[kind]
        return 0 if self._include_prompt or not prompt else self.backbone.prompt_length(prompt)

    def _tokenize(self, texts: Sequence[str], prefix: str, start: int) -> Tokens:
        tokens = Tokens.of(start, self.backbone.token_ids([prefix + text for text in texts[start : start + WINDOW_TEXTS]]))
        highest = int(tokens.ids.max(initial=0))
        if highest >= self.backbone.vocabulary:
            found = f"the tokenizer gives the token {highest}, but the model knows only {self.backbone.vocabulary}"
            raise ModelError(f"system {self.system.name}: {found}; they do not belong together, save both again")
        return tokens

    @torch.inference_mode()
    def _encode_window(self, window: Tokens, progress: Progress, left_out: int) -> torch.Tensor:
        """Vectors of a window on the device, float32 of shape (texts, dim); on CUDA they may still be computed."""
        if self.max_length is not None:
            self.truncated += int((window.lengths >= self.max_length).sum())
        vectors = torch.empty((len(window.lengths), self.dim), device=self.device)
        with_tokens, without = np.flatnonzero(window.lengths), np.flatnonzero(window.lengths == 0)
        if len(without):
            nothing = self._finish(torch.zeros((1, self._pooled_dim), device=self.device))[:, : self.dim]
            vectors.index_copy_(0, self._send(without), nothing.expand(len(without), -1))
        progress.advance(len(without))
        for batch in plan(window.lengths[with_tokens], lambda: self.token_budget, packed=self.packed):
            rows = with_tokens[batch]
            vectors.index_copy_(0, self._send(rows), self._forward(window, rows, left_out))
            tokens = int(window.lengths[rows].sum())
            self.tokens += tokens
            progress.advance(len(rows), tokens)
        return vectors

    def _finish(self, pooled: torch.Tensor) -> torch.Tensor:
        """What follows the pooling, in float32: vectors of shape (n, pooled dim) to (n, dim before dimensions are left out)."""
        finished: torch.Tensor = self._head(pooled)
        return finished

    def _send(self, array: np.ndarray) -> torch.Tensor:
        """An array on the device; from pinned memory, so that the host does not wait for what the device computes."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor

    def _forward(self, window: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        """Vectors of one batch; when memory runs out, the budget is halved and the batch computed in two parts."""
        try:
            return self._finish(self._pooled(window, rows, left_out))[:, : self.dim]
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                found = f"a text of {window.lengths[rows[0]]} tokens does not fit into the memory of {self.device}"
                raise ModelError(
                    f"system {self.system.name}: {found}; free memory, lower max_length, or use another device"
                ) from error
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        lengths = window.lengths[rows]
        tokens = int(lengths.sum() if self.packed else len(rows) * lengths.max())
        self.token_budget = max(1, min(self.token_budget, tokens // 2))
        logger.warning("out of memory with a batch of %d tokens; going on with a token budget of %d", tokens, self.token_budget)
        return torch.cat([self._forward(window, half, left_out) for half in np.array_split(rows, 2)])

    def _pooled(self, window: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        """Pooled tokens of one batch, float32 of shape (rows, pooled dim); an error of the model's code becomes a sentence."""
        try:
            return (self._compute_packed if self.packed else self._compute_padded)(window, rows, left_out)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, AssertionError, NotImplementedError) as error:
            raise self._failed(window, rows, error) from error
        except RuntimeError as error:
            if self.device.type == "cuda" or is_out_of_memory(error):
                raise  # the device may be at fault, which who holds it knows
            raise self._failed(window, rows, error) from error

    def _failed(self, window: Tokens, rows: np.ndarray, error: Exception) -> ModelError:
        reason = str(error).strip().partition("\n")[0]
        found = f"the model fails on texts of up to {window.lengths[rows].max()} tokens ({type(error).__name__}: {reason})"
        return ModelError(f"system {self.system.name}: {found}; look at its config.json, or lower max_length")

    def _compute_padded(self, window: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        ids, mask = (self._send(array) for array in pad(window, rows, self.backbone.padding))
        return pool(self._modes, self.backbone(ids, mask), mask, left_out)

    def _compute_packed(self, window: Tokens, rows: np.ndarray, left_out: int) -> torch.Tensor:
        ids, places = window.select(rows)
        lengths = window.lengths[rows]
        bounds = self._send(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        output = self.model(
            input_ids=self._send(ids)[None],
            position_ids=self._send(places + first_position(self.model))[None],
            bounds=bounds,
            lengths=lengths.tolist(),
        )
        return pool_packed(self._modes, output, bounds, getattr(self.model, "pooler", None), left_out)


class Arrival:
    """Vectors of a window on their way from the device to the host, which goes on meanwhile.

    Args:
        start: Index of the first text.
        vectors: On the device; may still be computed.
    """

    def __init__(self, start: int, vectors: torch.Tensor) -> None:
        self.start = start
        self._vectors, self._event = vectors, None
        if vectors.is_cuda:
            self._vectors = torch.empty(vectors.shape, pin_memory=True).copy_(vectors, non_blocking=True)
            self._event = torch.cuda.current_stream().record_event()

    def wait(self) -> tuple[int, np.ndarray]:
        """Wait for the vectors.

        Returns:
            Index of the first text, and the vectors, float32 of shape (texts, dim).

        Raises:
            NotFiniteError: A vector is not finite.
        """
        if self._event:
            self._event.synchronize()
        vectors = self._vectors.numpy()
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            raise NotFiniteError(self.start + int(np.argmin(finite)))
        return self.start, vectors
