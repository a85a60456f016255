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
from beirflow.families.rerank.kinds import TYPE, Saved, saved_modules
from beirflow.families.rerank.scorers.pair_reader import AskedPairs, TextPairs
from beirflow.families.rerank.scorers.prompts import Pair, Prompt, question_of
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.card_modules import refuse_type, refuse_what_is_not_hashed
from beirflow.models.computing.arrival import Arrival, send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.folder_tokenizer import assumed_tokens, tokenizer_of
from beirflow.models.computing.loading import NOTHING, load_whole, loading_from
from beirflow.models.computing.model_limits import UNLIMITED, check_length, known_tokens, readable_tokens
from beirflow.models.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.models.computing.text_model import TextModel
from beirflow.models.computing.token_reader import TokenReader
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES, Module


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

    def __init__(self, system: RerankSettings, folder: Path, saved: Saved, **on: Any) -> None:
        super().__init__(system.name, **on, unit="pair")
        self.system, self.folder, self.saved = system, folder, saved
        with model_errors_of(self.budget.owner):
            refuse_what_is_not_hashed(folder)
            refuse_type(folder)
            self._check_modules(saved_modules(folder))
            with loading_from(folder):
                self.tokenizer, loader = tokenizer_of(folder), getattr(transformers, self.loader)
                tolerated = {"may_lack": self._may_lack(), "may_have": self.left_over}
                self.model = load_whole(loader, folder, system.weights, self.dtype, **tolerated).to(self.device)
            self.assumed += assumed_tokens(self.name, self.tokenizer)
            if self.saved.ignored:
                self.assumed.append(
                    f"{self.name}: {' and '.join(self.saved.ignored)} in its files are not used, since sentence-transformers"
                    f" reads them only with {MODULES} and the model_type {TYPE} in {LIBRARY_CONFIG}"
                )
            self._vocabulary = known_tokens(self.model)
            self.reader = TokenReader(self.tokenizer)
            config, question = self.model.config.get_text_config(), self._question()
            self.pairs = AskedPairs(self.reader, question) if question else TextPairs(self.reader, self.saved.prompt)
            own_types = "token_type_ids" in self.tokenizer.model_input_names and bool(getattr(config, "type_vocab_size", 0))
            self._types = own_types and question is None
            # The padding that the model knows, since heads of decoders look for the last other token.
            is_known = config.pad_token_id is not None and 0 <= config.pad_token_id < self._vocabulary
            self._padding: int = config.pad_token_id if is_known else self.tokenizer.pad_token_id or 0
            self.max_length = self._length(question.max_length if question else UNLIMITED)
            self.pairs.cut(self.max_length)
            self._prepare()

    def _check_modules(self, modules: Sequence[Module]) -> None:
        """Refuse modules behind the model that sentence-transformers would run, but for those that are read here."""
        if modules:
            raise ModelError(f"{self.folder} also asks for {', '.join(each.type for each in modules)}, which is not done here")

    def _may_lack(self) -> str:
        """Return a pattern of the names of weights that a file may lack: those that change no score."""
        return NOTHING

    def _question(self) -> Prompt | None:
        """Return the question about a pair; None for a model that reads two texts."""
        return question_of(self.folder, self.tokenizer, self.saved, self.system.instruction) if self.saved.message else None

    def _length(self, usual: int) -> int:
        """Return the length of the configuration or else of the model's files, or the usual one within what the model reads."""
        usual = min(readable_tokens(self.model), self.tokenizer.model_max_length if usual == UNLIMITED else usual)
        longest = self.system.max_length or self.saved.max_length or usual
        if longest >= UNLIMITED:
            raise ModelError("the model names no length; set max_length")
        check_length(self.model, longest)
        return int(longest)

    @abstractmethod
    def _prepare(self) -> None:
        """Check and change the model once it is loaded."""

    @abstractmethod
    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Compute the logits of a batch, of shape (rows, 1 or 2): that of a relevant document, and the other."""

    def _check_padding(self, compute: Callable[..., torch.Tensor]) -> None:
        """Refuse a model whose output, for ids and mask of shape (rows, tokens), depends on the other texts of a batch."""

        def padded(texts: Tokens) -> torch.Tensor:
            """Pad the texts to one length and compute."""
            ids, mask = pad(texts, np.arange(len(texts.lengths)), self._padding)
            return compute(input_ids=send(ids, self.device), attention_mask=send(mask, self.device))

        ids = next(self.reader.ids([PROBE_TEXT]))
        check_padding(self.folder, padded, ids, longest=self.max_length, dtype=self.dtype)

    def _check_logits(self) -> None:
        """Refuse a model whose score of a pair depends on the other pairs of its batch."""
        self._check_padding(lambda **inputs: beside_one(self._logits(**inputs)))

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> torch.Tensor:
        """Compute the logits of one batch, float32 of shape (rows, labels), on the device."""
        ids, mask = pad(window.ids, rows, self._padding)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if window.types is not None:
            inputs["token_type_ids"] = pad(window.types, rows, getattr(self.tokenizer, "pad_token_type_id", 0))[0]
        return self._logits(**{name: send(array, self.device) for name, array in inputs.items()}).float()

    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        """Return the scores of pairs, of shape (pairs,), from their logits."""
        relevant, *other = logits.T
        return relevant - other[0] if other else relevant

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
        ids, types = self.pairs.read(pairs[start : start + self.window])
        tokens = Tokens.of(start, ids).check(self._vocabulary, self.budget.owner)
        return TokenPairs(tokens, Tokens.of(start, types) if types and self._types else None)

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
