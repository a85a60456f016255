"""Pairs of texts in, one float32 score per pair out: shared by all models that read both texts at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import transformers

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.progress import Progress
from beirflow.families.rerank.kinds import default_prompt, saved_modules
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.card_modules import refuse_what_is_not_hashed
from beirflow.models.computing.arrival import Arrival, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.folder_tokenizer import assumed_tokens, tokenizer_of
from beirflow.models.computing.loading import NOTHING, load_whole, loading_from
from beirflow.models.computing.model_limits import UNLIMITED, check_length, known_tokens, readable_tokens
from beirflow.models.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.models.computing.text_model import TextModel
from beirflow.models.computing.token_reader import TokenReader
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES

Pair = tuple[str, str]


class TokenPairs(NamedTuple):
    """Token ids of consecutive pairs, and the number in its pair of each token's text; None for models that do not use it."""

    ids: Tokens
    types: Tokens | None = None


class PairScorer(TextModel, ABC):
    """A model of the transformers library that reads a query and a document together.

    Pairs are batched as the texts of other models, and padded to the longest of the batch. Raises ModelError if the model cannot
    be loaded whole, or does not give a query and a document one score.
    """

    window: ClassVar = 8192

    loader: ClassVar[str]  # class of transformers that loads such models
    # names of weights that a file may have beyond those of the model: parts that no score is computed with
    left_over: ClassVar[str] = NOTHING
    own_modules: ClassVar[tuple[str, ...]] = ()  # modules of sentence-transformers whose work is done here anyway
    takes_prompt: ClassVar[bool] = False  # whether the default prompt of sentence-transformers is read

    def __init__(self, system: RerankSettings, folder: Path, **on: Any) -> None:
        super().__init__(system.name, **on, unit="pair")
        self.system, self.folder = system, folder
        with model_errors_of(self.budget.owner):
            self._check_folder()
            with loading_from(folder):
                self.tokenizer, kind = tokenizer_of(folder), getattr(transformers, self.loader)
                beside = {"may_lack": self._may_lack(), "may_have": self.left_over}
                self.model = load_whole(kind, folder, system.weights, self.dtype, **beside).to(self.device)
            self.assumed += assumed_tokens(self.name, self.tokenizer)
            self.reader = TokenReader(self.tokenizer)
            self._vocabulary = known_tokens(self.model)
            self.max_length = self._longest()
            self._prepare()

    def _check_folder(self) -> None:
        """Refuse what no digest covers, and modules that sentence-transformers would run besides."""
        refuse_what_is_not_hashed(self.folder)
        if others := [module.type for module in saved_modules(self.folder) if not module.type.endswith(self.own_modules)]:
            raise ModelError(f"{self.folder} also asks for {', '.join(others)}, which is not done here")
        self._prompt = default_prompt(self.folder)
        if self._prompt and not (self.folder / MODULES).is_file():
            self.assumed.append(
                f"{self.system.name}: the default prompt in its {LIBRARY_CONFIG} is not written, since sentence-transformers"
                f" reads it only beside {MODULES}"
            )
            self._prompt = ""
        if self._prompt and not self.takes_prompt:
            raise ModelError(f"{self.folder} also asks for the prompt {self._prompt!r}, which its kind of reranker does not read")

    def _may_lack(self) -> str:
        """Return a pattern of the names of weights that a file may lack: those that change no score."""
        return NOTHING

    @abstractmethod
    def _longest(self) -> int:
        """Return the tokens of the longest pair."""

    def _length(self, said: int | None, usual: int) -> int:
        """Return the length of the configuration or else of the model's files, or the usual one within what the model reads."""
        longest = self.system.max_length or said or min(readable_tokens(self.model), usual)
        if longest >= UNLIMITED:
            raise ModelError("the model names no length; set max_length")
        check_length(self.model, longest)
        return int(longest)

    @abstractmethod
    def _prepare(self) -> None:
        """Check and change the model once it is loaded."""

    def _check_padding(self, compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], padding: int) -> None:
        """Refuse a model whose output for ids and mask, of shape (rows, tokens), depends on the other texts of a batch."""

        def padded(texts: Tokens) -> torch.Tensor:
            ids, mask = pad(texts, np.arange(len(texts.lengths)), padding)
            return compute(send(ids, self.device), send(mask, self.device))

        ids = next(self.reader.ids([PROBE_TEXT]))
        check_padding(self.folder, padded, ids, longest=self.max_length, dtype=self.dtype)

    @abstractmethod
    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Tokenise pairs; return ids and types."""

    @abstractmethod
    def _compute(self, window: TokenPairs, rows: np.ndarray) -> torch.Tensor:
        """Compute the logits of one batch, float32 of shape (rows, labels), on the device."""

    @abstractmethod
    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        """Return the scores of pairs, of shape (pairs,), from their logits."""

    def batch_of(self, pairs: Sequence[Pair], row: int) -> np.ndarray:
        """Return the rows, ascending, of all pairs that are scored in one batch with one of them."""
        return self.budget.batch_of(self._tokenize(pairs, self.first_of_window(row)).ids, row)

    def counts(self) -> dict[str, int]:
        """Count the tokens read so far, and pairs that were probably cut."""
        return {"tokens": self.tokens, "truncated_pairs": self.truncated}

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Score n pairs of a query and a document, float32 of shape (n,).

        Raises ModelError if a score is not finite, or the tokenizer does not belong to the model; RuntimeError if the device
        fails.
        """
        scores = np.full(len(pairs), np.nan, np.float32)
        for rows, logits in self.read_and_compute("score", len(pairs), "pairs", partial(self._tokenize, pairs), self._begin):
            scores[rows] = self._scores_of(logits)
        wrong = np.flatnonzero(~np.isfinite(scores))
        if len(wrong):
            query, document = (text[:60] for text in pairs[int(wrong[0])])
            problem = f"the score of {query!r} and {document!r} is infinity or not-a-number"
            raise ModelError(f"{self.budget.owner}: {problem}; use precision float32")
        return scores

    def tokens_of(self, pair: Pair) -> TokenPairs:
        """Return the token ids of one pair as the model reads them."""
        return self._tokenize([pair], 0)

    def _tokenize(self, pairs: Sequence[Pair], start: int) -> TokenPairs:
        ids, types = self._read(pairs[start : start + self.window])
        tokens = Tokens.of(start, ids).check(self._vocabulary, self.budget.owner)
        return TokenPairs(tokens, None if types is None else Tokens.of(start, types))

    def _begin(self, window: TokenPairs, progress: Progress) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Score a window; return a function that waits for the numbers of its pairs and their logits."""
        self.truncated += int((window.ids.lengths >= self.max_length).sum())
        rows, logits = zip(*self.batches(window.ids, partial(self._compute, window), progress), strict=True)
        pairs, arrival = window.ids.start + np.concatenate(rows), Arrival(torch.cat([part for each in logits for part in each]))
        return lambda: (pairs, arrival.wait())


def in_float32(head: torch.nn.Module) -> None:
    """Let the last layers of a model compute in float32, whatever the others do: values with eight bits would tie."""
    head.float().register_forward_pre_hook(lambda _, inputs: tuple(each.float() for each in inputs))


def beside_one(logits: torch.Tensor) -> torch.Tensor:
    """Append a 1 to the logits, (rows, n), of each text, so that a change of small logits is not measured over them alone."""
    return torch.cat([logits.float(), torch.ones_like(logits[:, :1], dtype=torch.float32)], dim=1)
