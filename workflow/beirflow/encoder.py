"""Encoders: texts in, one float32 vector a text out."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from beirflow.devices import choose_device, choose_precision
from beirflow.errors import ModelError
from beirflow.pooling import pool
from beirflow.progress import Progress
from beirflow.system import System

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 4096
"""Texts that are tokenised together and sorted by length before they are batched."""

AUTO_TOKEN_BUDGET = {"cpu": 4096, "cuda": 65536}


class Encoder(Protocol):
    """Anything that turns texts into vectors; rows are in the order of the texts, float32, of shape (n, dim)."""

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n queries into an array of shape (n, dim), float32."""

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n documents into an array of shape (n, dim), float32."""


class NotFiniteError(ModelError):
    """An encoder computed infinity or not-a-number.

    Args:
        row: Index of the text.
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"the vector of text {row} is not finite")
        self.row = row


class Tokens(NamedTuple):
    """A window of texts as token ids: the index of its first text, and one list of ids a text."""

    start: int
    ids: list[list[int]]


class TransformersEncoder:
    """An encoder from the transformers library.

    A second thread tokenises the next window of texts while the device computes. Inside a window, texts are sorted by token
    count and batched up to a budget of tokens, padding included.

    Args:
        system: The system; its pooling, normalisation, prefixes and maximum length are used.
        folder: Folder of the model.
        device: ``auto``, ``cuda`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, or ``auto``.

    Attributes:
        tokens: Tokens encoded so far, padding not counted.
        truncated: Texts that were as long as the maximum, so probably cut.

    Raises:
        ModelError: The model cannot be loaded or cannot do what the system says.
    """

    def __init__(self, system: System, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.system = system
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.token_budget = AUTO_TOKEN_BUDGET[self.device.type] if token_budget == "auto" else int(token_budget)
        self.tokens = self.truncated = 0
        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            self.model, report = AutoModel.from_pretrained(
                folder,
                dtype=self.dtype,
                use_safetensors=system.weights.endswith(".safetensors"),
                weights_only=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
        except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
            found = f"the model in {folder} cannot be loaded ({type(error).__name__}: {error})"
            todo = "beirflow runs no code from model folders and reads tensors only; save the model again with save_pretrained"
            raise ModelError(f"system {system.name}: {found}; {todo}") from error
        self._check(report["missing_keys"], folder)
        self.model.to(self.device).eval()
        self.dim: int = self.model.config.hidden_size

    def _check(self, missing: Sequence[str], folder: Path) -> None:
        """Refuse weights that leave a part of the model at random, and texts longer than the model can read."""
        needed = sorted(name for name in missing if self.system.pooling == "pooler" or not name.startswith("pooler."))
        if needed:
            found = f"no weights for {', '.join(needed[:5])}" + (" and others" if len(needed) > 5 else "")
            raise ModelError(f"system {self.system.name}: {folder / self.system.weights} has {found}; these would be random")
        if self.system.pooling == "pooler" and getattr(self.model, "pooler", None) is None:
            raise ModelError(
                f"system {self.system.name}: pooling is 'pooler', but the model in {folder} has none; use mean or cls"
            )
        longest = min(getattr(self.model.config, "max_position_embeddings", None) or 10**9, self.tokenizer.model_max_length)
        if self.system.max_length > longest:
            raise ModelError(
                f"system {self.system.name}: max_length is {self.system.max_length}, but the model reads at most {longest} tokens"
            )

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Encode queries.

        Args:
            texts: n queries.

        Returns:
            float32 of shape (n, dim), in the order of the texts.

        Raises:
            NotFiniteError: A vector is not finite.
        """
        return self._encode(texts, self.system.query_prefix, "queries")

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        """Encode documents.

        Args:
            texts: n documents; fastest when texts of similar length stand together.

        Returns:
            float32 of shape (n, dim), in the order of the texts.

        Raises:
            NotFiniteError: A vector is not finite.
        """
        return self._encode(texts, self.system.document_prefix, "documents")

    @torch.inference_mode()
    def _encode(self, texts: Sequence[str], prefix: str, unit: str) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        with Progress(f"encode with {self.system.name}", len(texts), unit, "tokens") as progress:
            for window in self._tokenize(texts, prefix):
                lengths = [len(ids) for ids in window.ids]
                self.truncated += sum(length >= self.system.max_length for length in lengths)
                for rows in self._batches(lengths):
                    batch = self._forward([window.ids[row] for row in rows])
                    vectors[window.start + np.array(rows)] = batch
                    count = sum(lengths[row] for row in rows)
                    self.tokens += count
                    progress.advance(len(rows), count)
                finite = np.isfinite(vectors[window.start : window.start + len(lengths)]).all(axis=1)
                if not finite.all():
                    raise NotFiniteError(window.start + int(np.argmin(finite)))
        return vectors

    def _tokenize(self, texts: Sequence[str], prefix: str) -> Iterator[Tokens]:
        """Windows of tokenised texts, each made while the one before is encoded."""
        with ThreadPoolExecutor(max_workers=1) as background:
            pending: Future[Tokens] | None = None
            for start in range(0, len(texts), WINDOW_TEXTS):
                following = background.submit(self._tokenize_window, texts[start : start + WINDOW_TEXTS], prefix, start)
                if pending:
                    yield pending.result()
                pending = following
            if pending:
                yield pending.result()

    def _tokenize_window(self, texts: Sequence[str], prefix: str, start: int) -> Tokens:
        tokenized = self.tokenizer(
            [prefix + text for text in texts],
            truncation=True,
            max_length=self.system.max_length,
            return_attention_mask=False,
        )
        return Tokens(start, tokenized["input_ids"])

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Rows of a window, longest first, in batches whose padded size keeps to the budget as it is when the batch is made."""
        order = np.argsort([-length for length in lengths], kind="stable").tolist()
        position = 0
        while position < len(order):
            count = max(1, self.token_budget // max(1, lengths[order[position]]))
            yield order[position : position + count]
            position += count

    def _forward(self, sequences: list[list[int]]) -> np.ndarray:
        """Vectors of one batch; when memory runs out, the budget is halved and the batch computed in two parts."""
        try:
            return self._compute(sequences)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
                raise
            if len(sequences) == 1:
                found = f"a text of {len(sequences[0])} tokens does not fit into the memory of {self.device}"
                raise ModelError(
                    f"system {self.system.name}: {found}; free memory, lower max_length, or use another device"
                ) from error
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        tokens = len(sequences) * max(map(len, sequences))
        self.token_budget = max(1, min(self.token_budget, tokens // 2))
        logger.warning("out of memory with a batch of %d tokens; going on with a token budget of %d", tokens, self.token_budget)
        half = (len(sequences) + 1) // 2
        return np.concatenate([self._forward(sequences[:half]), self._forward(sequences[half:])])

    def _compute(self, sequences: list[list[int]]) -> np.ndarray:
        """Vectors of one padded batch, float32 of shape (len(sequences), dim)."""
        longest = max(len(sequence) for sequence in sequences)
        ids = torch.full((len(sequences), longest), self.tokenizer.pad_token_id or 0, dtype=torch.long)
        mask = torch.zeros((len(sequences), longest), dtype=torch.long)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
            mask[row, : len(sequence)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        output = self.model(input_ids=ids, attention_mask=mask)
        vectors = pool(self.system.pooling, output, mask)
        if self.system.normalize:
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        return vectors.cpu().numpy()
