"""Late-interaction encoders: texts in, one float16 vector of length 1 per token out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.progress import Progress
from beirflow.data.document_text import Kind
from beirflow.families.late_interaction.card import Reading, system_card
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.token_pooling import LOSSY, pooled
from beirflow.families.late_interaction.vectors import TokenVectors, with_zeros
from beirflow.models.card import check_open
from beirflow.models.computing.arrival import Arrival, NotFiniteError, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.folder_tokenizer import readable
from beirflow.models.computing.text_model import TextModel
from beirflow.models.encoders.backbone import Backbone
from beirflow.models.encoders.head import load_head
from beirflow.models.model_json import TASKS
from beirflow.models.model_places import model_folder
from beirflow.models.own_class import load_class

PROJECTION = "linear.weight"  # projection of a checkpoint of ColBERT, in the same file as its backbone; it has no bias


class Window(NamedTuple):
    """Consecutive texts as a model reads them."""

    tokens: Tokens  # its input, with markers and expansions
    own: np.ndarray  # tokens of each text before its expansion, int64 of shape (n,)
    kept: np.ndarray  # of each token, whether its vector counts, bool of shape (tokens,)

    @property
    def counts(self) -> np.ndarray:
        """Vectors of each text, int64 of shape (n,)."""
        starts = np.cumsum(self.tokens.lengths) - self.tokens.lengths
        before = np.concatenate([[0], np.cumsum(self.kept)])
        return before[starts + self.tokens.lengths] - before[starts]


class TokenEncoder(TextModel):
    """Encodes texts of a kind; a text none of whose tokens counts has one vector of zeros.

    Lengths of the system win over those of the model's files. The precision is that of the backbone; what follows it is computed
    in float32. ``card`` is the model's recipe and ``reading`` that for the kind of text; a text that was cut is as long as the
    maximum before its expansion. Raises ModelError if the model cannot be loaded whole, is not supported, or contradicts the
    settings.
    """

    def __init__(self, system: LateSettings, folder: Path, kind: Kind, **on: Any) -> None:
        super().__init__(system.name, **on)
        self._kind, self._pool_factor = kind, system.pool_factor if kind == "documents" else None
        self.budget.setting = "document_length" if kind == "documents" else "query_length"
        with model_errors_of(self.budget.owner):
            self.card = system_card(folder, system)
            check_open({key: why for key, why in self.card.open.items() if key.startswith(TASKS[kind])})
            self.reading = self.card.readings[kind]
            self._load(folder, self.reading, system.weights)

    def _load(self, folder: Path, reading: Reading, weights: str) -> None:
        first, *others = reading.steps
        inserted = 1 if reading.marker else 0  # texts are cut earlier, so that the marker has room
        of_colbert = any(step.kind == "dense" and not step.folder for step in others)
        head = (PROJECTION,) if of_colbert else ()
        self.backbone = Backbone(folder / first.folder, first, weights, (), self.dtype, inserted=inserted, loaded_elsewhere=head)
        self.assumed = self.backbone.assumptions(self.name)
        self._head = load_head(folder, others, weights).to(self.device)
        self.backbone.model.to(self.device).eval()
        hidden = torch.zeros((1, self.backbone.model.config.get_text_config().hidden_size), device=self.device)
        self._dim = self._head(hidden).shape[1]
        self.max_length = self.backbone.max_length
        if self.max_length is not None and self.max_length <= inserted:
            raise ModelError(f"texts are cut after {self.max_length} tokens, which leaves no room for text")
        self._marker = self._marker_id(reading.marker, of_colbert)
        self._filler = self._filler_id(reading)
        self._skipped = self._skipped_ids(reading)
        self.backbone.check_padding(
            lambda texts: self._compute(self._window(texts, texts.lengths), np.arange(len(texts.lengths)))
        )

    def _marker_id(self, marker: str | None, of_colbert: bool) -> int | None:
        """Return the token that is put in after the first one."""
        if marker is None:
            return None
        tokenizer = self.backbone.tokenizer
        number = tokenizer.get_vocab().get(marker)
        if number is None:
            raise ModelError(f"the tokenizer does not know the marker {marker!r}, which the model was trained with")
        if tokenizer.truncation_side != "right":
            problem = "the tokenizer cuts texts at their beginning"
            raise ModelError(f"{problem}, where the model was trained with the marker {marker!r}")
        nothing = next(self.backbone.token_ids([""]))
        if not nothing or nothing[0] not in tokenizer.all_special_ids:
            problem = "the tokenizer begins no text with a special token"
            if of_colbert:  # which writes the marker over the second token
                raise ModelError(f"{problem}, after which the marker {marker!r} belongs")
            if tokenizer.padding_side != "right":
                raise ModelError(f"{problem} and pads at the beginning: the place of the marker {marker!r} depends on the batch")
        return int(number)

    def _filler_id(self, reading: Reading) -> int | None:
        if reading.expansion is None:
            return None
        tokenizer, token = self.backbone.tokenizer, reading.expansion.token
        if tokenizer.padding_side != "right":
            raise ModelError("queries are padded at their end, but the tokenizer pads at the beginning")
        known = (tokenizer.mask_token, tokenizer.eos_token) if token is None else (token,)
        number = next((tokenizer.get_vocab().get(each) for each in known if each is not None), None)
        if number is None:
            raise ModelError(f"the tokenizer does not know the padding token of queries, {token or 'its mask'!r}")
        return int(number)

    def _skipped_ids(self, reading: Reading) -> np.ndarray:
        """Return the tokens whose vectors do not count; a word that is no token is the unknown token in PyLate, and else none."""
        tokenizer = self.backbone.tokenizer
        vocabulary, unknown = tokenizer.get_vocab(), tokenizer.unk_token_id if reading.skips_unknown else None
        ids = {vocabulary.get(word, unknown) for word in reading.skipped}
        return np.array(sorted(ids - {None}), np.int64)

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions of the vectors, and whether something is lost, for the record."""
        return super().made() | ({"lossy": LOSSY} if self._pool_factor else {})

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vectors, for the record."""
        pooling = {"pool_factor": self._pool_factor} if self._pool_factor else {}
        return self.card.of_kind(self._kind) | {"max_length": self.max_length} | pooling

    def windows(self, texts: Sequence[str]) -> Iterator[TokenVectors]:
        """Encode texts a window at a time, so that vectors can be written while the next are computed.

        It is fastest when texts of similar length are neighbours.

        Raises NotFiniteError if a vector is not finite; ModelError if the tokenizer does not belong to the model.
        """
        return self.read_and_compute("encode", len(texts), self._kind, partial(self._read, texts), self._begin)

    def tokens_of(self, texts: Sequence[str]) -> list[list[str | None]]:
        """Return the token of each vector of each text, as far as no other is pooled with it.

        A token is written for a reader, or None: special tokens, markers, and those of expansions.
        """
        tokenizer, tokens = self.backbone.tokenizer, list[list[str | None]]()
        unread = {*tokenizer.all_special_ids, self._marker, self._filler}
        for start in range(0, len(texts), self.window):
            window = self._read(texts, start)
            for ids in np.split(window.tokens.ids[window.kept], np.cumsum(window.counts)[:-1]):
                tokens.append([None if token in unread else readable(tokenizer, token) for token in ids.tolist()] or [None])
        return tokens

    def window_of(self, text: str) -> Window:
        """Return one text as the model reads it."""
        return self._read([text], 0)

    def _read(self, texts: Sequence[str], start: int) -> Window:
        prompt, expansion = self.reading.prompt, self.reading.expansion
        ids = [*self.backbone.token_ids([prompt + text for text in texts[start : start + self.window]])]
        if self._marker is not None:
            ids = [[*each[:1], self._marker, *each[1:]] for each in ids]
        own = np.array([len(each) for each in ids], np.int64)  # before the expansion, which hides whether a text was cut
        if expansion is not None:
            ids = [[*each, *[self._filler] * (expansion.length - len(each))] for each in ids]  # type: ignore[list-item]
        return self._window(Tokens.of(start, ids).check(self.backbone.vocabulary, self.budget.owner), own)

    def _window(self, tokens: Tokens, own: np.ndarray) -> Window:
        return Window(tokens, own, ~np.isin(tokens.ids, self._skipped))

    @torch.inference_mode()
    def _begin(self, window: Window, progress: Progress) -> Callable[[], TokenVectors]:
        """Encode a window: float16 of shape (vectors, dim), float32 before a pooling; the device may still compute it."""
        if self.max_length is not None:
            self.truncated += int((window.own >= self.max_length).sum())
        counts = window.counts
        starts = np.cumsum(counts) - counts
        dtype = torch.float32 if self._pool_factor else torch.float16  # means are rounded once, after the pooling
        vectors = torch.zeros((int(counts.sum()), self._dim), device=self.device, dtype=dtype)
        for rows, parts in self.batches(window.tokens, partial(self._compute, window), progress):
            computed = torch.cat(parts)
            places = np.arange(len(computed)) + np.repeat(starts[rows] - (np.cumsum(counts[rows]) - counts[rows]), counts[rows])
            vectors.index_copy_(0, send(places, self.device), computed.to(dtype))
        return partial(self._arrived, window, Arrival(vectors))

    def _arrived(self, window: Window, arrival: Arrival) -> TokenVectors:
        """Return the vectors of a window, all of which are finite, or raise NotFiniteError."""
        on_host, counts = arrival.wait(), window.counts
        starts = np.cumsum(counts) - counts
        finite = np.isfinite(on_host).all(axis=1)
        if not finite.all():
            raise NotFiniteError(window.tokens.start + int(np.searchsorted(starts + counts, np.argmin(finite), side="right")))
        if self._pool_factor:
            parts = [pooled(own, self._pool_factor) for own in np.split(on_host, starts[1:])]
            counts, on_host = np.array([len(part) for part in parts]), np.concatenate(parts).astype(np.float16)
        return with_zeros(TokenVectors(counts, on_host))

    def _compute(self, window: Window, rows: np.ndarray) -> torch.Tensor:
        """Compute the vectors of the tokens that count, text by text, float32 of shape (vectors, dim)."""
        ids, mask = pad(window.tokens, rows, self.backbone.padding)
        kept = (mask > 0) & ~np.isin(ids, self._skipped)  # before the mask hides expansions, whose vectors count
        if self.reading.expansion is not None and not self.reading.expansion.attend:
            mask[np.arange(mask.shape[1]) >= window.own[rows][:, None]] = 0
        hidden = self.backbone(send(ids, self.device), send(mask, self.device)).last_hidden_state
        places = send(np.flatnonzero(kept), self.device)
        return self._head(hidden.reshape(-1, hidden.shape[-1]).index_select(0, places).float())


def encoder_of(system: LateSettings, kind: Kind, **on: Any) -> Any:
    """Load the encoder of one kind of text of a system, ours or that of sentence-transformers."""
    if system.encoder:
        return load_class(system, kind=kind, device=on["device"])
    return TokenEncoder(system, model_folder(system), kind, **on)
