"""Cross-encoders: pairs of texts in, one float32 logit a pair out."""

import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.utils import logging as transformers_logging

from beirflow.files.background import map_ahead
from beirflow.files.errors import ModelError
from beirflow.files.progress import Progress
from beirflow.jobs.devices import choose_device, choose_precision, is_out_of_memory
from beirflow.models.batching import Tokens, pad, plan
from beirflow.models.card_modules import refuse_what_is_not_hashed
from beirflow.models.lean_imports import load_lean
from beirflow.models.packed_attention import first_position
from beirflow.rerank.settings import RerankSettings

logger = logging.getLogger(__name__)

WINDOW_PAIRS = 8192
"""Pairs that are tokenised together and sorted by length before they are batched."""

AUTO_TOKEN_BUDGET = {"cpu": 4096, "cuda": 65536}

LABELS = (1, 2)
HEADS = ("classifier", "score")
"""What the last layers are called in the models of transformers."""


Pair = tuple[str, str]


class TokenPairs(NamedTuple):
    """Token ids of consecutive pairs, and to which text of its pair each token belongs; None for models that are not told."""

    ids: Tokens
    types: Tokens | None


class CrossEncoder:
    """A sequence classifier of the transformers library with one label, or two of which the second means relevant.

    Pairs are cut to the longest that the model reads, from the longer text first; sorted by their number of tokens, batched up to
    a budget of tokens, and padded to the longest of the batch. In half precision, the last layers compute in float32: logits
    with eight bits would tie.

    Args:
        system: The system.
        folder: Folder of the model.
        device: ``auto``, ``cuda`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, padding included, or ``auto``.

    Attributes:
        max_length: Tokens after which a pair is cut.
        tokens: Tokens read so far, padding not counted.
        truncated: Pairs that were as long as the maximum, so probably cut.

    Raises:
        ModelError: The model cannot be loaded, or is none that gives a query and a document one score.
    """

    def __init__(self, system: RerankSettings, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.system, self.folder = system, folder
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.token_budget = AUTO_TOKEN_BUDGET[self.device.type] if token_budget == "auto" else int(token_budget)
        self.tokens = self.truncated = 0
        self._check_folder()
        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()
        try:
            self.tokenizer, self.model, report = load_lean(self._load)
        except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
            found = f"the model in {folder} cannot be loaded ({type(error).__name__}: {error})"
            todo = "beirflow runs no code from model folders and reads tensors only; save the model again with save_pretrained"
            raise ModelError(f"system {system.name}: {found}; {todo}") from error
        self._check(report)
        self.max_length = self._longest()
        self.model.to(self.device).eval()
        if self.dtype != torch.float32:
            self._keep_head_in_float32()
        self._types = "token_type_ids" in self.tokenizer.model_input_names
        self._vocabulary = len(self.model.get_input_embeddings().weight)
        if fast := getattr(self.tokenizer, "backend_tokenizer", None):
            fast.no_padding()
            fast.enable_truncation(self.max_length, strategy="longest_first", direction=self.tokenizer.truncation_side)

    def _check_folder(self) -> None:
        """Refuse what is no sequence classifier, and what sentence-transformers would do besides."""
        config = _json(self.folder / "config.json")
        try:
            refuse_what_is_not_hashed(self.folder)
        except ModelError as error:
            raise ModelError(f"system {self.system.name}: {error}") from error
        kinds = config.get("architectures") or ["nothing"]
        if not str(kinds[0]).endswith("ForSequenceClassification"):
            found = f"{self.folder}/config.json says that the model is {kinds[0]}"
            raise ModelError(f"system {self.system.name}: {found}; expected a cross-encoder, …ForSequenceClassification")
        modules = _json(self.folder / "modules.json", [])
        prompts = _json(self.folder / "config_sentence_transformers.json").get("prompts") or {}
        if len(modules) > 1 or any(prompts.values()):
            names = ", ".join([str(module.get("type")) for module in modules[1:]] + [f"prompt {name}" for name in prompts])
            raise ModelError(f"system {self.system.name}: {self.folder} also asks for {names}, which is not done here")

    def _load(self) -> tuple[Any, Any, dict[str, Any]]:
        """Tokenizer, model, and the report on its weights."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False, local_files_only=True)
        model, report = AutoModelForSequenceClassification.from_pretrained(
            self.folder,
            dtype=self.dtype,
            use_safetensors=self.system.weights.endswith(".safetensors"),
            weights_only=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        return tokenizer, model, report

    def _check(self, report: dict[str, Any]) -> None:
        """Refuse weights that are missing, which would be random, or that would not be used; and other numbers of labels."""
        for key, says in (("missing_keys", "no weights for"), ("unexpected_keys", "weights that the model does not use:")):
            names = sorted(report[key])
            if names:
                found = f"{says} {', '.join(names[:5])}" + (" and others" if len(names) > 5 else "")
                raise ModelError(
                    f"system {self.system.name}: {self.folder / self.system.weights} has {found}; it is another model"
                )
        if self.model.config.num_labels not in LABELS:
            found = f"the model in {self.folder} has {self.model.config.num_labels} labels"
            raise ModelError(f"system {self.system.name}: {found}; one was expected, or two of which the second means relevant")

    def _longest(self) -> int:
        """Tokens of the longest pair."""
        positions = (getattr(self.model.config, "max_position_embeddings", None) or 10**9) - first_position(self.model.base_model)
        says = _json(self.folder / "sentence_bert_config.json").get("max_seq_length") or 10**9
        longest = min(positions, self.tokenizer.model_max_length, says)
        asked = self.system.max_length
        if asked is None and longest < 10**9:
            return longest
        if asked is None or asked > min(positions, self.tokenizer.model_max_length):
            found = (
                f"max_length is {asked}, but the model reads at most {longest} tokens" if asked else "the model names no length"
            )
            raise ModelError(f"system {self.system.name}: {found}; set another max_length")
        return asked

    def _keep_head_in_float32(self) -> None:
        for head in filter(None, (getattr(self.model, name, None) for name in HEADS)):
            head.float().register_forward_pre_hook(lambda _, inputs: tuple(each.float() for each in inputs))

    def scores(self, pairs: Sequence[Pair], unit: str = "pairs") -> np.ndarray:
        """Score pairs of texts.

        Args:
            pairs: n pairs of a query and a document.
            unit: What progress counts.

        Returns:
            Logits, float32 of shape (n,); with two labels, that of the second minus that of the first.

        Raises:
            ModelError: A score is not finite, or the tokenizer does not belong to the model.
            RuntimeError: The device fails.
        """
        found = np.empty(len(pairs), np.float32)
        tokenize = partial(self._tokenize, pairs)
        with Progress(f"score with {self.system.name}", len(pairs), unit, "tokens") as progress:
            for window in map_ahead(tokenize, range(0, len(pairs), WINDOW_PAIRS)):
                start, lengths = window.ids.start, window.ids.lengths
                self.truncated += int((lengths >= self.max_length).sum())
                for rows in plan(lengths, lambda: self.token_budget, packed=False):
                    found[start + rows] = self._forward(window, rows)
                    tokens = int(lengths[rows].sum())
                    self.tokens += tokens
                    progress.advance(len(rows), tokens)
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            query, document = (text[:60] for text in pairs[int(wrong[0])])
            said = f"the score of {query!r} and {document!r} is infinity or not-a-number; use precision float32"
            raise ModelError(f"system {self.system.name}: {said}")
        return found

    def _tokenize(self, pairs: Sequence[Pair], start: int) -> TokenPairs:
        part = list(pairs[start : start + WINDOW_PAIRS])
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is None:
            queries, documents = ([pair[side] for pair in part] for side in (0, 1))
            encoded = self.tokenizer(queries, documents, truncation="longest_first", max_length=self.max_length)
            ids, types = encoded["input_ids"], encoded.get("token_type_ids", [])
        else:
            encodings = fast.encode_batch_fast(part)
            ids, types = [each.ids for each in encodings], [each.type_ids for each in encodings]
        tokens = Tokens.of(start, ids)
        highest = int(tokens.ids.max(initial=0))
        if highest >= self._vocabulary:
            wrong = f"the tokenizer gives the token {highest}, but the model knows only {self._vocabulary}"
            raise ModelError(f"system {self.system.name}: {wrong}; they do not belong together, save both again")
        return TokenPairs(tokens, Tokens.of(start, types) if self._types else None)

    @torch.inference_mode()
    def _forward(self, window: TokenPairs, rows: np.ndarray) -> np.ndarray:
        """Scores of one batch; when memory runs out, the budget is halved and the batch computed in two parts."""
        try:
            ids, mask = pad(window.ids, rows, self.tokenizer.pad_token_id or 0)
            inputs = {"input_ids": ids, "attention_mask": mask}
            if window.types is not None:
                inputs["token_type_ids"] = pad(window.types, rows, getattr(self.tokenizer, "pad_token_type_id", 0))[0]
            tensors = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
            logits = self.model(**tensors).logits.float().cpu().numpy()
            return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                found = f"a pair of {window.ids.lengths[rows[0]]} tokens does not fit into the memory of {self.device}"
                raise ModelError(
                    f"system {self.system.name}: {found}; free memory, lower max_length, or use another device"
                ) from error
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        tokens = int(len(rows) * window.ids.lengths[rows].max())
        self.token_budget = max(1, min(self.token_budget, tokens // 2))
        logger.warning("out of memory with a batch of %d tokens; going on with a token budget of %d", tokens, self.token_budget)
        return np.concatenate([self._forward(window, half) for half in np.array_split(rows, 2)])


def _json(path: Path, missing: Any = None) -> Any:
    """What a file of the model's folder holds, or another value where there is no such file."""
    if not path.is_file():
        return {} if missing is None else missing
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{path}: expected JSON ({error}); copy the model again") from error
