"""Encoders: texts in, one float32 vector a text out."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from transformers.utils import logging as transformers_logging

from beirflow.files.background import map_ahead
from beirflow.files.errors import ModelError
from beirflow.files.progress import Progress
from beirflow.jobs.devices import choose_device, choose_precision, is_out_of_memory
from beirflow.models.batching import Tokens, pad, plan
from beirflow.models.lean_imports import load_lean
from beirflow.models.packed_attention import can_pack, first_position, pack
from beirflow.models.pooling import pool, pool_packed
from beirflow.models.settings import EncoderSettings

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 4096
"""Texts that are tokenised together and sorted by length before they are batched."""

TOKENIZER_THREADS = 2
"""The tokenizer itself uses all cores; a second window is tokenised while the ids of the first are copied."""

PROBE_TOKENS = 12
PACKED_TOLERANCE = 16.0
"""Of the difference of a packed text's vector from a padded one's, in units of the precision's rounding; causal attention changes
far more."""

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


class TransformersEncoder:
    """An encoder from the transformers library.

    Other threads tokenise the next windows of texts while the device computes, and finished vectors are copied off the device
    while it computes the next. Inside a window, texts are sorted by token count and batched up to a budget of tokens; they
    are packed end to end on CUDA in half precision, and padded to the longest of the batch elsewhere. A text without tokens
    has a vector of zeros: an empty text, where the tokenizer adds no special tokens.

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

    def __init__(self, system: EncoderSettings, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.system = system
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.token_budget = AUTO_TOKEN_BUDGET[self.device.type] if token_budget == "auto" else int(token_budget)
        self.tokens = self.truncated = 0
        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()
        try:
            self.tokenizer, self.model, report = load_lean(partial(self._load, folder))
        except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
            found = f"the model in {folder} cannot be loaded ({type(error).__name__}: {error})"
            todo = "beirflow runs no code from model folders and reads tensors only; save the model again with save_pretrained"
            raise ModelError(f"system {system.name}: {found}; {todo}") from error
        self._check(report["missing_keys"], folder)
        self.model.to(self.device).eval()
        self.dim: int = self.model.config.hidden_size
        self._vocabulary = len(self.model.get_input_embeddings().weight)
        if fast := getattr(self.tokenizer, "backend_tokenizer", None):
            fast.no_padding()
            fast.enable_truncation(system.max_length, direction=self.tokenizer.truncation_side)
        self.packed = can_pack(self.model, self.device, self.dtype) and self._pack()

    def _load(self, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
        """Tokenizer, model, and the report on its weights."""
        from transformers import AutoModel, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        model, report = AutoModel.from_pretrained(
            folder,
            dtype=self.dtype,
            use_safetensors=self.system.weights.endswith(".safetensors"),
            weights_only=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        return tokenizer, model, report

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
        positions = (getattr(self.model.config, "max_position_embeddings", None) or 10**9) - first_position(self.model)
        longest = min(positions, self.tokenizer.model_max_length)
        if self.system.max_length > longest:
            raise ModelError(
                f"system {self.system.name}: max_length is {self.system.max_length}, but the model reads at most {longest} tokens"
            )

    @torch.inference_mode()
    def _pack(self) -> bool:
        """Let the model attend to packed texts, unless two short ones then have other vectors than padded.

        A configuration may ask for attention that packing does not do; a CPU, which pads, would have other vectors than a GPU.
        """
        ids = [token for token in range(min(self._vocabulary, PROBE_TOKENS)) if token != self.tokenizer.pad_token_id]
        ids = ids[: self.system.max_length]
        texts, rows = Tokens.of(0, [ids[: -(-len(ids) // 2)], ids]), np.arange(2)
        padded = self._compute_padded(texts, rows)
        before = pack(self.model)
        packed = self._compute_packed(texts, rows)
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

    def _whole(self, texts: Sequence[str], kind: str) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start, window in self.windows(texts, kind):
            vectors[start : start + len(window)] = window
        return vectors

    def windows(self, texts: Sequence[str], kind: str) -> Iterator[tuple[int, np.ndarray]]:
        """Encode texts a window at a time, so that vectors can be written while the next are computed.

        Args:
            texts: n texts.
            kind: ``queries`` or ``documents``.

        Yields:
            Index of the first text of a window, and the window's vectors, float32 of shape (texts, dim).

        Raises:
            NotFiniteError: A vector is not finite.
        """
        prefix = self.system.query_prefix if kind == "queries" else self.system.document_prefix
        tokenize = partial(self._tokenize, texts, prefix)
        on_the_way: Arrival | None = None
        with Progress(f"encode with {self.system.name}", len(texts), kind, "tokens") as progress:
            for window in map_ahead(tokenize, range(0, len(texts), WINDOW_TEXTS), TOKENIZER_THREADS):
                arrival = Arrival(window.start, self._encode_window(window, progress))
                if on_the_way:
                    yield on_the_way.wait()
                on_the_way = arrival
            if on_the_way:
                yield on_the_way.wait()

    def _tokenize(self, texts: Sequence[str], prefix: str, start: int) -> Tokens:
        tokens = Tokens.of(start, self._token_ids([prefix + text for text in texts[start : start + WINDOW_TEXTS]]))
        highest = int(tokens.ids.max(initial=0))
        if highest >= self._vocabulary:
            found = f"the tokenizer gives the token {highest}, but the model knows only {self._vocabulary}"
            raise ModelError(f"system {self.system.name}: {found}; they do not belong together, save both again")
        return tokens

    def _token_ids(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, special tokens included."""
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is None:
            return self.tokenizer(texts, truncation=True, max_length=self.system.max_length)["input_ids"]
        # What the tokenizer would do, without the masks and offsets that it makes besides the ids: those take most of the time.
        return [encoding.ids for encoding in fast.encode_batch_fast(texts)]

    @torch.inference_mode()
    def _encode_window(self, window: Tokens, progress: Progress) -> torch.Tensor:
        """Vectors of a window on the device, float32 of shape (texts, dim); on CUDA they may still be computed."""
        self.truncated += int((window.lengths >= self.system.max_length).sum())
        vectors = torch.zeros((len(window.lengths), self.dim), device=self.device)
        with_tokens = np.flatnonzero(window.lengths)
        progress.advance(len(vectors) - len(with_tokens))
        for batch in plan(window.lengths[with_tokens], lambda: self.token_budget, packed=self.packed):
            rows = with_tokens[batch]
            vectors.index_copy_(0, self._send(rows), self._forward(window, rows))
            tokens = int(window.lengths[rows].sum())
            self.tokens += tokens
            progress.advance(len(rows), tokens)
        return vectors

    def _send(self, array: np.ndarray) -> torch.Tensor:
        """An array on the device; from pinned memory, so that the host does not wait for what the device computes."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor

    def _forward(self, window: Tokens, rows: np.ndarray) -> torch.Tensor:
        """Vectors of one batch; when memory runs out, the budget is halved and the batch computed in two parts."""
        try:
            vectors = (self._compute_packed if self.packed else self._compute_padded)(window, rows)
            return torch.nn.functional.normalize(vectors, dim=1) if self.system.normalize else vectors
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
        return torch.cat([self._forward(window, half) for half in np.array_split(rows, 2)])

    def _compute_padded(self, window: Tokens, rows: np.ndarray) -> torch.Tensor:
        ids, mask = (self._send(array) for array in pad(window, rows, self.tokenizer.pad_token_id or 0))
        return pool(self.system.pooling, self.model(input_ids=ids, attention_mask=mask), mask)

    def _compute_packed(self, window: Tokens, rows: np.ndarray) -> torch.Tensor:
        ids, places = window.select(rows)
        lengths = window.lengths[rows]
        bounds = self._send(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        output = self.model(
            input_ids=self._send(ids)[None],
            position_ids=self._send(places + first_position(self.model))[None],
            bounds=bounds,
            lengths=lengths.tolist(),
        )
        return pool_packed(self.system.pooling, output, bounds, getattr(self.model, "pooler", None))


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
