"""Pairs of texts in, one float32 score per pair out: shared by all models that read both texts at once."""

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import transformers
from transformers.utils import logging as transformers_logging

from beirflow.computing.arrival import Arrival, finish_behind, send
from beirflow.computing.batching import Tokens, pad
from beirflow.computing.failing import in_words
from beirflow.computing.lean_imports import load_lean
from beirflow.computing.made import made_with
from beirflow.computing.model_limits import UNLIMITED, check_length, known_tokens, readable_tokens
from beirflow.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.computing.token_budget import TokenBudget
from beirflow.files.background import map_ahead
from beirflow.files.errors import ModelError
from beirflow.files.progress import Progress
from beirflow.jobs.devices import choose_device, choose_precision
from beirflow.models.card_modules import refuse_what_is_not_hashed
from beirflow.rerank.kinds import default_prompt, saved_modules
from beirflow.rerank.settings import RerankSettings

logger = logging.getLogger(__name__)

WINDOW_PAIRS = 8192
"""Pairs that are tokenised together and sorted by length before they are batched."""

Pair = tuple[str, str]


class TokenPairs(NamedTuple):
    """Token ids of consecutive pairs, and the number in its pair of each token's text; None for models that do not use it."""

    ids: Tokens
    types: Tokens | None = None


class PairScorer(ABC):
    """A model of the transformers library that reads a query and a document together.

    Pairs are sorted by their number of tokens, batched up to a budget of tokens, and padded to the longest of the batch.

    Args:
        system: The system.
        folder: Folder of the model.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, padding included, or ``auto``.

    Attributes:
        max_length: Tokens after which a pair is cut.
        tokens: Tokens read so far, padding not counted.
        truncated: Pairs that were as long as the maximum, so probably cut.
        assumed: Sentences on what the files of the model leave open, for the record and the summary.

    Raises:
        ModelError: The model cannot be loaded whole, or does not give a query and a document one score.
    """

    loader: ClassVar[str]
    """Class of transformers that loads such models."""

    left_over: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    """Names of weights that a file may have beyond those of the model: parts that no score is computed with."""

    own_modules: ClassVar[tuple[str, ...]] = ()
    """Modules of sentence-transformers whose work is done here anyway."""

    takes_prompt: ClassVar[bool] = False
    """Support of the default prompt of sentence-transformers."""

    def __init__(self, system: RerankSettings, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.system, self.folder = system, folder
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.budget = TokenBudget.of(f"system {system.name}", self.device, token_budget, unit="pair")
        self.tokens = self.truncated = 0
        self.assumed: list[str] = []
        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()
        try:
            self._check_folder()
            self.tokenizer, self.model, report = self._loaded()
            self._check_weights(report)
            self._vocabulary = known_tokens(self.model)
            self.model.to(self.device).eval()
            self.max_length = self._longest()
            self._prepare()
        except ModelError as error:
            raise self._wrong(str(error)) from error

    def _wrong(self, found: str) -> ModelError:
        return ModelError(f"system {self.system.name}: {found}")

    def _check_folder(self) -> None:
        """Refuse what no digest covers, and modules that sentence-transformers would run besides."""
        refuse_what_is_not_hashed(self.folder)
        names = [module["type"] for module in saved_modules(self.folder)]
        if others := [name for name in names if not name.endswith(self.own_modules)]:
            raise ModelError(f"{self.folder} also asks for {', '.join(others)}, which is not done here")
        self._prompt = default_prompt(self.folder)
        if self._prompt and not self.takes_prompt:
            raise ModelError(f"{self.folder} also asks for the prompt {self._prompt!r}, which its kind of reranker does not read")

    def _loaded(self) -> tuple[Any, Any, dict[str, Any]]:
        """Load tokenizer and model; return the report on its weights, too."""
        try:
            return load_lean(self._load)
        except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
            problem = f"the model in {self.folder} cannot be loaded ({type(error).__name__}: {error})"
            todo = "beirflow runs no code from model folders and reads only tensors; save the model again with save_pretrained"
            raise ModelError(f"{problem}; {todo}") from error

    def _load(self) -> tuple[Any, Any, dict[str, Any]]:
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False, local_files_only=True)
        model, report = getattr(transformers, self.loader).from_pretrained(
            self.folder,
            dtype=self.dtype,
            use_safetensors=self.system.weights.endswith(".safetensors"),
            weights_only=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        return tokenizer, model, report

    def _check_weights(self, report: dict[str, Any]) -> None:
        """Refuse weights that are missing, which would be random, or that would not be used, but for known parts left over."""
        unused = [name for name in report["unexpected_keys"] if not self.left_over.search(name)]
        for found, says in ((report["missing_keys"], "no weights for"), (unused, "weights that the model does not use:")):
            if names := sorted(found):
                problem = f"{says} {', '.join(names[:5])}" + (" and others" if len(names) > 5 else "")
                raise ModelError(f"{self.folder / self.system.weights} has {problem}; it is another model")

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

        ids = self.tokenizer(PROBE_TEXT)["input_ids"]
        with in_words(self.device, len(ids)):
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

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions of the scores, for the record."""
        return {"precision": str(self.dtype).removeprefix("torch."), **made_with(self.device, self.assumed)}

    def counts(self) -> dict[str, int]:
        """Count the tokens read so far, and pairs that were probably cut."""
        return {"tokens": self.tokens, "truncated_pairs": self.truncated}

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Score n pairs of a query and a document, float32 of shape (n,).

        Raises ModelError if a score is not finite, or the tokenizer does not belong to the model; RuntimeError if the device
        fails.
        """
        found = np.empty(len(pairs), np.float32)
        tokenize = partial(self._tokenize, pairs)
        with Progress(f"score with {self.system.name}", len(pairs), "pairs", "tokens") as progress:
            windows = map_ahead(tokenize, range(0, len(pairs), WINDOW_PAIRS))
            for rows, logits in finish_behind(self._begin(window, progress) for window in windows):
                found[rows] = self._scores_of(logits)
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            query, document = (text[:60] for text in pairs[int(wrong[0])])
            raise self._wrong(f"the score of {query!r} and {document!r} is infinity or not-a-number; use precision float32")
        return found

    def _tokenize(self, pairs: Sequence[Pair], start: int) -> TokenPairs:
        ids, types = self._read(pairs[start : start + WINDOW_PAIRS])
        tokens = Tokens.of(start, ids).check(self._vocabulary, self.budget.owner)
        return TokenPairs(tokens, None if types is None else Tokens.of(start, types))

    def _begin(self, window: TokenPairs, progress: Progress) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Score a window; return a function that waits for the numbers of its pairs and their logits."""
        lengths, order = window.ids.lengths, list[np.ndarray]()
        parts = list[torch.Tensor]()
        self.truncated += int((lengths >= self.max_length).sum())
        for rows in self.budget.batches(lengths):
            parts += self.budget.compute(partial(self._forward, window), lengths, rows)
            order.append(window.ids.start + rows)
            tokens = int(lengths[rows].sum())
            self.tokens += tokens
            progress.advance(len(rows), tokens)
        pairs, arrival = np.concatenate(order), Arrival(torch.cat(parts))
        return lambda: (pairs, arrival.wait())

    @torch.inference_mode()
    def _forward(self, window: TokenPairs, rows: np.ndarray) -> torch.Tensor:
        with in_words(self.device, int(window.ids.lengths[rows].max()), self.system.name):
            return self._compute(window, rows)


def in_float32(head: torch.nn.Module) -> None:
    """Let the last layers of a model compute in float32, whatever the others do: values with eight bits would tie."""
    head.float().register_forward_pre_hook(lambda _, inputs: tuple(each.float() for each in inputs))


def beside_one(logits: torch.Tensor) -> torch.Tensor:
    """Append a 1 to the logits, (rows, n), of each text, so that a change of small logits is not measured over them alone."""
    return torch.cat([logits.float(), torch.ones_like(logits[:, :1], dtype=torch.float32)], dim=1)
