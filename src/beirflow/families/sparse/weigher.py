"""Weighers: texts in, weights of the terms of a vocabulary out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import model_errors_of
from beirflow.core.progress import Progress
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.heads import Loaded, keep_most, load_part, pool_terms
from beirflow.families.sparse.layouts import Part
from beirflow.families.sparse.settings import USUAL_LENGTHS
from beirflow.families.sparse.tokens import TextTokenizer, Weights, count_tokens
from beirflow.models.computing.arrival import Arrival, NotFiniteError, on_own_stream, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.folder_tokenizer import assumed_tokens
from beirflow.models.computing.model_limits import UNLIMITED, check_length
from beirflow.models.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.models.computing.text_model import TextModel

RECORDED = ("kind", "pooling", "activation", "prefix", "most_terms")
"""Fields of a part, besides lengths, in the record of the weights that it made."""


class Weigher(TextModel):
    """A part of a sparse system: it weighs the terms of queries or of documents.

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
            vocabulary = max(self.tokenizer.get_vocab().values(), default=-1) + 1
            self.terms = self.loaded.terms if self.loaded else vocabulary if self.table is None else len(self.table)
            if self.loaded:
                ids, longest = self.tokenizer(PROBE_TEXT)["input_ids"], self.max_length

                def weigh_all(texts: Tokens) -> torch.Tensor:
                    """Return the weights of a batch."""
                    return self._compute(texts, np.arange(len(texts.lengths)))

                check_padding(part.folder, weigh_all, ids, longest=longest, dtype=self.dtype)

    def _longest_text(self) -> int:
        """Return the length at which texts are cut, which the model must be able to read."""
        readable = self.loaded.longest if self.loaded else UNLIMITED
        longest = self.part.max_length or min(readable, self.tokenizer.model_max_length)
        if self.loaded:
            check_length(self.loaded.model, longest)
        return longest

    def described(self) -> dict[str, Any]:
        """Describe the weighing of texts, for the record of their weights."""
        part = {key: getattr(self.part, key) for key in RECORDED}
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

        It is fastest when texts of similar length are neighbours. In ``unicoil`` the weights of a repeated token are added in
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
        texts, parts = [np.empty(0, np.int64)], list[Callable[[], Weights]]()
        finite = [torch.empty(0, dtype=torch.bool, device=self.device)]
        compute = partial(self._compute, window, add_repeated=kind == "queries")
        for rows, results in self.batches(window, compute, progress):
            weights = torch.cat(results)
            texts.append(rows)
            parts.append(self._collect(rows, weights))
            finite.append(weights.isfinite().all(dim=1))
        arrival = Arrival(torch.cat(finite))
        nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)

        def finish() -> Rows:
            """Wait for the weights of the window."""
            if not (is_finite := arrival.wait()).all():
                raise NotFiniteError(window.start + int(np.concatenate(texts)[np.argmin(is_finite)]))
            arrived = [part() for part in parts]
            return Rows.of(size, *(np.concatenate(columns) for columns in zip(nothing, *arrived, strict=True)))

        return finish

    def _compute(self, window: Tokens, rows: np.ndarray, *, add_repeated: bool = False) -> torch.Tensor:
        """Weigh one batch: float32 of shape (rows, terms), on the device.

        In ``unicoil`` the token that begins a text has no weight, and of a repeated token the weights are added or the largest
        counts.
        """
        assert self.loaded is not None  # noqa: S101 - for the type checker
        ids, mask = (send(array, self.device) for array in pad(window, rows, self.tokenizer.pad_token_id or 0))
        hidden = self.loaded.model(input_ids=ids, attention_mask=mask)[self.loaded.output]
        if self.loaded.projection is not None:
            if self.tokenizer.cls_token_id is not None:
                mask[:, 0] *= ids[:, 0] != self.tokenizer.cls_token_id
            weights = torch.where(mask > 0, self.loaded.projection(hidden)[:, :, 0].relu(), 0)
            # Sums in float64, so that they do not depend on the order of a text's tokens by more than one rounding.
            of_terms = torch.zeros((len(rows), self.terms), dtype=torch.float64, device=self.device)
            return of_terms.scatter_reduce_(1, ids, weights.double(), "sum" if add_repeated else "amax").float()
        vocabulary = self.loaded.vocabulary
        assert vocabulary is not None  # noqa: S101 - for the type checker: there is no projection
        return pool_terms(hidden, mask, vocabulary, pooling=self.part.pooling, activation=self.part.activation)

    def _collect(self, rows: np.ndarray, weights: torch.Tensor) -> Callable[[], Weights]:
        """Reduce the weights of a batch to those above 0; return a function that waits for them."""
        if self.part.most_terms is not None:
            weights = keep_most(weights, self.part.most_terms)
        surroundings = on_own_stream(weights)

        def collect() -> Weights:
            """Return row, term and weight of each positive weight."""
            # The host waits for their number: on a GPU while the next window is computed, on a CPU while its cache holds them.
            with surroundings:
                places = weights.nonzero(as_tuple=True)
                text, term, weight = (each.cpu().numpy() for each in (*places, weights[places]))
            return rows[text], term, weight

        if weights.is_cuda:
            return collect
        collected = collect()
        return lambda: collected
