"""Weighers: texts in, weights of the terms of a vocabulary out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import model_errors_of
from beirflow.core.progress import Progress
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.heads import CUDA_LOGITS, Loaded, keep_most, load_part, pool_logits, pool_terms
from beirflow.families.sparse.layouts import Part
from beirflow.families.sparse.settings import USUAL_LENGTHS
from beirflow.families.sparse.tokens import TextTokenizer, Weights, count_tokens, merge_tokens
from beirflow.models.computing.arrival import Arrival, NotFiniteError, beside, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.folder_tokenizer import assumed_tokens
from beirflow.models.computing.model_limits import UNLIMITED, check_length
from beirflow.models.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.models.computing.text_model import TextModel

COLLECTED = {"cpu": 1, "mps": 1, "cuda": 1 << 27}
"""Weights of batches among which those above 0 are looked for together, for which CUDA must have computed them."""

OF_A_PART = ("kind", "pooling", "activation", "prefix", "most_terms")
"""Keys, in a record of weights, that describe the part that made them, besides lengths."""


class Weigher(TextModel):
    """Weighs terms as a part says.

    ``texts`` turns texts into tokens, and counts those that were cut; ``terms`` is the size of the vocabulary. Raises ModelError
    if the model cannot be loaded or contradicts the settings.
    """

    def __init__(self, name: str, part: Part, **on: Any) -> None:
        super().__init__(name, **on)
        self.part = part
        with model_errors_of(self.budget.owner):
            self.tokenizer, model = load_part(part, self.dtype, self.device)
            self.assumed = assumed_tokens(name, self.tokenizer)
            self.loaded = model if isinstance(model, Loaded) else None
            self.table = model.numpy() if isinstance(model, torch.Tensor) else None
            self.max_length = self._longest_text()
            self.texts = TextTokenizer(self.tokenizer, part, self.max_length)
            if self.loaded:
                ids, longest = self.tokenizer(PROBE_TEXT)["input_ids"], self.max_length
                check_padding(part.folder, self._weights_of_all, ids, longest=longest, dtype=self.dtype)
        vocabulary = max(self.tokenizer.get_vocab().values(), default=-1) + 1
        self.terms = self.loaded.terms if self.loaded else vocabulary if self.table is None else len(self.table)
        if self.loaded and self.loaded.vocabulary is None and self.loaded.projection is None:
            self.budget.tokens = min(self.budget.tokens, CUDA_LOGITS // self.terms)  # every logit of a batch is in memory

    def _weights_of_all(self, texts: Tokens) -> torch.Tensor:
        return self._compute(texts, np.arange(len(texts.lengths)))

    def _longest_text(self) -> int:
        """Return the length at which texts are cut, which the model must be able to read."""
        readable = self.loaded.longest if self.loaded else UNLIMITED
        longest = self.part.max_length or min(readable, self.tokenizer.model_max_length)
        if self.loaded:
            check_length(self.loaded.model, longest)
        return longest

    def batch_of(self, texts: Sequence[str], added: Sequence[str] | None, row: int) -> np.ndarray:
        """Return the rows, ascending, of all texts that are weighed in one batch with one of them."""
        return self.budget.batch_of(self._tokenize(texts, added, self.first_of_window(row)), row)

    def described(self) -> dict[str, Any]:
        """Describe the weighing of texts, for the record of their weights."""
        part = {key: getattr(self.part, key) for key in OF_A_PART}
        added = {key: length for key in USUAL_LENGTHS if (length := getattr(self.part, key)) is not None}
        return {**part, **added, "max_length": self.max_length}

    def counts_of(self, kind: str) -> dict[str, int]:
        """Return the tokens weighed so far, and the texts that were cut; documents cut by a writer of expansions are others."""
        names = {"texts": f"truncated_{kind}"}
        if self.part.expansion_length is not None:
            names = {what: f"truncated_{what}" for what in ("texts", "expansions")}
        return {"tokens": self.tokens, **{name: self.texts.truncated[what] for what, name in names.items()}}

    def windows(self, texts: Sequence[str], kind: str, added: Sequence[str] | None = None) -> Iterator[Rows]:
        """Weigh texts a window at a time, so that weights can be written while the next are computed.

        It is fastest when texts of similar length are neighbours. Of ``unicoil`` the weights of a repeated token are added up in
        queries; in documents the largest counts. ``added`` has the addition to each document.

        Raises ModelError if a weight is not finite; or the tokenizer does not belong to the model; ValueError if the part and the
        texts do not both have additions.
        """
        if (added is None) != (self.part.expansion_length is None):
            raise ValueError(f"system {self.name}: {kind} are weighed {'without' if added is None else 'with'} an expansion")
        read = partial(self._tokenize, texts, added)
        return self.read_and_compute("weigh", len(texts), kind, read, partial(self._begin, kind))

    def tokens_of(self, text: str) -> Tokens:
        """Return the token ids of one text, without an addition to it, as the model reads them."""
        return self._tokenize([text], None if self.part.expansion_length is None else [""], 0)

    def _tokenize(self, texts: Sequence[str], added: Sequence[str] | None, start: int) -> Tokens:
        window = slice(start, start + self.window)
        prefixed = [self.part.prefix + text for text in texts[window]]
        ids = self.texts.plain(prefixed) if added is None else self.texts.expanded(prefixed, added[window])
        return Tokens.of(start, ids).check(self.terms, self.budget.owner)

    @torch.inference_mode()
    def _begin(self, kind: str, window: Tokens, progress: Progress) -> Callable[[], Rows]:
        """Weigh a window; return a function that waits for its weights."""
        size = len(window.lengths)
        if self.loaded is None:
            self.tokens += int(window.lengths.sum())
            progress.advance(size, int(window.lengths.sum()))
            return partial(Rows.of, size, *count_tokens(window, self.part, self.table))
        parts, weighed, texts = list[Callable[[], Weights]](), list[torch.Tensor](), list[np.ndarray]()
        for rows, results in self.batches(window, partial(self._compute, window), progress):
            weighed += results
            texts.append(rows)
            if sum(weights.numel() for weights in weighed) >= COLLECTED[self.device.type]:
                parts.append(self._collect(window, kind, np.concatenate(texts), weighed))
                weighed, texts = [], []
        if weighed:
            parts.append(self._collect(window, kind, np.concatenate(texts), weighed))
        nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)

        def finish() -> Rows:
            arrived = [part() for part in parts]
            return Rows.of(size, *(np.concatenate(columns) for columns in zip(nothing, *arrived, strict=True)))

        return finish

    def _compute(self, window: Tokens, rows: np.ndarray) -> torch.Tensor:
        """Weigh one batch: float32 of shape (rows, terms), or (tokens,) where each token has one weight, on the device."""
        assert self.loaded is not None  # noqa: S101 - for the type checker
        on_host = pad(window, rows, self.tokenizer.pad_token_id or 0)
        ids, mask = (send(array, self.device) for array in on_host)
        hidden = self.loaded.model(input_ids=ids, attention_mask=mask)[self.loaded.output]
        if self.loaded.projection is not None:
            weights = self.loaded.projection(hidden)[:, :, 0].float().relu()
            return weights.reshape(-1).index_select(0, send(np.flatnonzero(on_host[1]), self.device))
        how = {"pooling": self.part.pooling, "activation": self.part.activation}
        vocabulary = self.loaded.vocabulary
        return pool_logits(hidden, mask, **how) if vocabulary is None else pool_terms(hidden, mask, vocabulary, **how)

    def _collect(self, window: Tokens, kind: str, rows: np.ndarray, batches: Sequence[torch.Tensor]) -> Callable[[], Weights]:
        """Reduce weights to those above 0; return a function that waits for them, and raises NotFiniteError."""
        weights = batches[0] if len(batches) == 1 else torch.cat([*batches])
        if weights.ndim == 1:
            of_tokens = Arrival(weights)
            return lambda: self._merged(window, kind, rows, of_tokens.wait())
        finite = Arrival(weights.isfinite().all(dim=1))
        if self.part.most_terms is not None:
            weights = keep_most(weights, self.part.most_terms)
        surroundings = beside(weights)

        def collect() -> Weights:
            # The host waits for their number: on a GPU while the next window is computed, on a CPU while its cache holds them.
            with surroundings:
                places = weights.nonzero(as_tuple=True)
                text, term, weight = (each.cpu().numpy() for each in (*places, weights[places]))
            return rows[text], term, weight

        collected = None if weights.is_cuda else collect()

        def wait() -> Weights:
            self._check_finite(finite.wait(), window, rows)
            return collected or collect()

        return wait

    def _merged(self, window: Tokens, kind: str, rows: np.ndarray, weights: np.ndarray) -> Weights:
        lengths = window.lengths[rows]
        self._check_finite(np.logical_and.reduceat(np.isfinite(weights), np.cumsum(lengths) - lengths), window, rows)
        return merge_tokens(window, rows, weights, first=self.tokenizer.cls_token_id, add=kind == "queries")

    def _check_finite(self, finite: np.ndarray, window: Tokens, rows: np.ndarray) -> None:
        if not finite.all():
            raise NotFiniteError(window.start + int(rows[np.argmin(finite)]))
