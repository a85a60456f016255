"""Encoders: texts in, one float32 vector per text out."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from beirflow.core.background import map_ahead
from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.progress import Progress
from beirflow.data.document_text import Kind
from beirflow.models.card import with_settings
from beirflow.models.card_files import read_card
from beirflow.models.computing.arrival import Arrival, NotFiniteError, finish_behind, send
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.made import CountingModel
from beirflow.models.computing.token_budget import TokenBudget
from beirflow.models.encoders.tower import Tower
from beirflow.models.settings import EncoderSettings
from beirflow.run.devices import choose_device, choose_precision

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 4096  # texts that are tokenised together and sorted by length before they are batched
TOKENIZER_THREADS = 2  # the tokenizer itself uses all cores; a second window is tokenised while the ids of the first are copied


class Encoder(CountingModel, Protocol):
    """Anything that turns texts into vectors."""

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vector, for the record."""

    def batch_of(self, texts: Sequence[str], kind: Kind, row: int) -> np.ndarray:
        """Return the rows, ascending, of all texts that are encoded in one batch with one of them."""

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[tuple[int, np.ndarray]]:
        """Encode n texts in order: index of the first text of a window, and float32 of shape (texts, dim)."""


class TransformersEncoder:
    """An encoder computed by torch: a model of transformers or a table of word vectors, pooling, and further modules.

    Other threads tokenise the next windows of texts while the device computes, and finished vectors are copied off the device
    while it computes the next. Inside a window, texts are sorted by token count and batched up to a budget of tokens; they are
    packed end to end on CUDA in half precision, and padded to the longest of the batch elsewhere. A text without tokens has zeros
    in place of its pooled tokens: an empty text, where the tokenizer adds no special tokens.

    The settings of the system override the files of the model; of a system with two models, the folder is that for the kind of
    text. Device, precision and budget are as in :class:`~beirflow.run.hardware.ModelHardware`. Raises ModelError if the model
    cannot be loaded, is not understood, or does not fit the settings.
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
        self.budget = TokenBudget.of(f"system {system.name}", self.device, token_budget)
        self.tokens = self.truncated = 0
        self._kind = kind
        dtype, auto = choose_precision(precision, self.device), precision == "auto"
        with model_errors_of(self.budget.owner):
            self.card = with_settings(read_card(folder), system)
            open_keys = {"pooling", "query_prefix" if kind == "queries" else "document_prefix"} & set(self.card.open)
            if problem := replace(self.card, open={key: self.card.open[key] for key in sorted(open_keys)}).problem():
                raise ModelError(problem)
            self.tower = Tower(folder, self.card.steps[kind], system.weights, self.device, dtype, auto=auto)
            self.budget.packed = self.tower.packed
            self.dim = self.card.dimensions or self.tower.dim
            if self.dim > self.tower.dim:
                raise ModelError(f"dimensions is {self.dim}, but a vector of this model has {self.tower.dim}")

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions that the vectors are made with, for the record."""
        return self.tower.made(self.system.name)

    def computation(self) -> dict[str, Any]:
        """Return batches, threads and processor, for the record."""
        return self.budget.computation(self.tower.threads)

    def batch_of(self, texts: Sequence[str], kind: Kind, row: int) -> np.ndarray:
        """Return the rows, ascending, of all texts that are encoded in one batch with one of them."""
        return self.budget.batch_of(self._tokenize(texts, self.card.prompts[kind], row - row % WINDOW_TEXTS), row)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim), in the order of the texts."""
        return self._whole(texts, "queries")

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n documents, float32 of shape (n, dim); fastest when texts of similar length are neighbours."""
        return self._whole(texts, "documents")

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vector, for the record."""
        return self.card.of_kind(self._kind) | {"max_length": self.tower.max_length}

    def _whole(self, texts: Sequence[str], kind: Kind) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start, window in self.windows(texts, kind):
            vectors[start : start + len(window)] = window
        return vectors

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[tuple[int, np.ndarray]]:
        """Encode texts a window at a time, so that vectors can be written while the next are computed.

        Yields the index of the first text of a window, and the window's vectors, float32 of shape (texts, dim). Raises
        NotFiniteError for a vector that is not finite.
        """
        tokenize = partial(self._tokenize, texts, self.card.prompts[kind])
        left_out = self.tower.left_out(self.card.prompts[kind])
        with Progress(f"encode with {self.system.name}", len(texts), kind, "tokens") as progress:
            windows = map_ahead(tokenize, range(0, len(texts), WINDOW_TEXTS), TOKENIZER_THREADS)
            yield from finish_behind(
                partial(_arrived, window.start, Arrival(self._encode_window(window, progress, left_out))) for window in windows
            )

    def tokens_of(self, texts: Sequence[str], kind: Kind) -> Tokens:
        """Return the token ids of all texts, with the prompt of their kind, for :meth:`vectors_of`."""
        windows = [self._tokenize(texts, self.card.prompts[kind], start) for start in range(0, len(texts), WINDOW_TEXTS)]
        ids, lengths = ([getattr(window, name) for window in windows] for name in ("ids", "lengths"))
        return Tokens(0, np.concatenate(ids), np.concatenate(lengths))

    def vectors_of(self, texts: Tokens, rows: np.ndarray, kind: Kind) -> torch.Tensor:
        """Encode the texts in ``rows``, none without tokens, in one batch, with gradients where torch computes them.

        Returns float32 of shape (rows, dim) on the device.
        """
        return self.tower.vectors(texts, rows, self.tower.left_out(self.card.prompts[kind]))[:, : self.dim].float()

    def _tokenize(self, texts: Sequence[str], prefix: str, start: int) -> Tokens:
        backbone = self.tower.backbone
        ids = backbone.token_ids([prefix + text for text in texts[start : start + WINDOW_TEXTS]])
        return Tokens.of(start, ids).check(backbone.vocabulary, self.budget.owner)

    @torch.inference_mode()
    def _encode_window(self, window: Tokens, progress: Progress, left_out: int) -> torch.Tensor:
        """Encode a window: float32 of shape (texts, dim) on the device; on CUDA it may still be computed."""
        if self.tower.max_length is not None:
            self.truncated += int((window.lengths >= self.tower.max_length).sum())
        vectors = torch.empty((len(window.lengths), self.dim), device=self.device)
        with_tokens, without = np.flatnonzero(window.lengths), np.flatnonzero(window.lengths == 0)
        if len(without):
            nothing = self.tower.finish(torch.zeros((1, self.tower.pooled_dim), device=self.device))[:, : self.dim]
            vectors.index_copy_(0, send(without, self.device), nothing.expand(len(without), -1))
        progress.advance(len(without))
        forward = partial(self._forward, window, left_out)
        for batch in self.budget.batches(window.lengths[with_tokens]):
            rows = with_tokens[batch]
            computed = torch.cat([*self.budget.compute(forward, window.lengths, rows)])
            vectors.index_copy_(0, send(rows, self.device), computed)
            tokens = int(window.lengths[rows].sum())
            self.tokens += tokens
            progress.advance(len(rows), tokens)
        return vectors

    def _forward(self, window: Tokens, left_out: int, rows: np.ndarray) -> torch.Tensor:
        """Encode one batch, float32 of shape (rows, dim)."""
        with model_errors_of(self.budget.owner):
            return self.tower.vectors(window, rows, left_out)[:, : self.dim]


def _arrived(start: int, arrival: Arrival) -> tuple[int, np.ndarray]:
    """Return the index of the first text of a window and its vectors, all of which are finite, or raise NotFiniteError."""
    vectors = arrival.wait()
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise NotFiniteError(start + int(np.argmin(finite)))
    return start, vectors
