"""Cross-encoders: sequence classifiers, whose raw logit is the score of a pair, whole or saved in parts."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.families.rerank.kinds import POOLED, check_activation, saved_modules
from beirflow.families.rerank.scorers.pair_scorer import Pair, PairScorer, TokenPairs, beside_one, in_float32
from beirflow.models.card import Step
from beirflow.models.card_modules import READERS, dense_step, module_config, refuse_type, transformer_step
from beirflow.models.computing.arrival import send
from beirflow.models.computing.batching import pad
from beirflow.models.computing.folder_tokenizer import assumed_types
from beirflow.models.computing.loading import NOTHING
from beirflow.models.computing.pooling import pool
from beirflow.models.encoders.head import load_head
from beirflow.models.model_json import MODULES

OPPOSITES = {"relevant": "irrelevant", "entailment": "contradiction", "positive": "negative", "related": "unrelated"}
OPPOSITES |= {"true": "false", "yes": "no", "1": "0"}
"""Names of labels that mean relevant, each with the name of its opposite."""

UNNAMED = ("label_0", "label_1")  # names that transformers gives to two labels without names

LABELS = (1, 2)
HEADS = ("classifier", "score")  # names of the last layers in the models of transformers

NAMES = {"module_input_name": "sentence_embedding", "module_output_name": "scores"}


def relevant_label(id2label: Mapping[int, Any], label2id: Mapping[Any, Any] | None = None) -> int | None:
    """Return the number of the label, out of two, that means relevant; None without names, which leaves the usual second one.

    Raises ModelError if the names do not say it, or contradict each other.
    """
    by_name = {number: name for name, number in (label2id or {}).items()}
    labels = {_relevant(names) for names in (id2label, by_name) if names.keys() >= {0, 1}} - {None}
    if len(labels) > 1:
        raise ModelError(
            f"in its config.json id2label is {dict(id2label)} and label2id {dict(label2id or {})}; correct one of them"
        )
    return next(iter(labels), None)


def _relevant(names: Mapping[int, Any]) -> int | None:
    """Return the number of the label that means relevant by its name; None without names."""
    first, second = (re.sub(r"[\s_-]+", "_", str(names[number]).strip().lower()) for number in (0, 1))
    if (first, second) == UNNAMED:
        return None
    relevant = [number for number, pair in enumerate(((first, second), (second, first))) if _are_opposites(*pair)]
    if len(relevant) != 1:
        raise ModelError(
            f"its two labels are {names[0]!r} and {names[1]!r}, which do not say which of them means relevant. In a copy of the"
            ' folder say so in config.json: "id2label": {"0": "irrelevant", "1": "relevant"}, or the other way round'
        )
    return relevant[0]


def _are_opposites(name: str, other: str) -> bool:
    return name in OPPOSITES and other in (OPPOSITES[name], *(f"{no}{name}" for no in ("not_", "non_", "non", "no_")))


class CrossEncoder(PairScorer):
    """A sequence classifier with one label, or two of which one means relevant.

    A score is the raw logit; with two labels, that of the relevant one minus that of the other. Pairs are cut to the
    longest that the model reads, from the longer text first. In half precision, the last layers compute in float32.
    """

    loader = "AutoModelForSequenceClassification"
    backbone = "rerank"
    """Family whose backbones the model has, as sentence-transformers saves them."""

    takes_prompt = True
    left_over = r"(^|\.)(pooler|cls\.(predictions|seq_relationship)|lm_head|vocab_(transform|layer_norm|projector))\."

    def _check_folder(self) -> None:
        """Refuse unsupported settings of sentence-transformers, which reads its own file only beside modules.json."""
        super()._check_folder()
        refuse_type(self.folder)
        self._said_length: int | None = None  # of the file that sentence-transformers reads
        if not (self.folder / MODULES).is_file():
            return
        self._said_length = transformer_step(self.folder, "", "documents", self.backbone).settings["max_length"]

    def _longest(self) -> int:
        return self._length(self._said_length, self.tokenizer.model_max_length)

    def _prepare(self) -> None:
        """Refuse encoder-decoders, find the label that counts, and set the tokenizer."""
        if getattr(self.model.config, "is_encoder_decoder", False):
            problem = f"the model in {self.folder} is an encoder-decoder of type {self.model.config.model_type}"
            raise ModelError(f"{problem}, which reads pairs differently from a cross-encoder")
        self._relevant = self._relevant_label()
        if self.dtype != torch.float32:
            for head in filter(None, (getattr(self.model, name, None) for name in HEADS)):
                in_float32(head)
        # The padding that the model knows, since heads of decoders look for the last other token.
        own = self.model.config.get_text_config().pad_token_id
        is_known = own is not None and 0 <= own < self._vocabulary
        self._padding: int = own if is_known else self.tokenizer.pad_token_id or 0
        self._check_batches()
        types = getattr(self.model.config.get_text_config(), "type_vocab_size", 0)
        self._types = "token_type_ids" in self.tokenizer.model_input_names and bool(types)
        if self._types:
            self.assumed += assumed_types(self.system.name, self.tokenizer)
        self.reader.cut(self.max_length)

    def _relevant_label(self) -> int:
        """Return the number of the label whose logit counts for a pair; the other's, if there is one, counts against it."""
        config = self.model.config
        if config.num_labels not in LABELS:
            problem = f"the model in {self.folder} has {config.num_labels} labels"
            raise ModelError(f"{problem}; one was expected, or two of which one means relevant")
        check_activation(self.folder, config.num_labels)
        if config.num_labels == 1:
            return 0
        with model_errors_of(str(self.folder)):
            named = relevant_label(config.id2label, config.label2id)
        if named is None:
            self.assumed.append(
                f"{self.system.name}: of the two labels of its model, which have no names, the second means relevant"
            )
        return 1 if named is None else named

    def _check_batches(self) -> None:
        """Refuse a model whose score of a pair depends on the other pairs of its batch: by its states, or by its head."""
        self._check_padding(
            lambda ids, mask: self.model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state[mask > 0], self._padding
        )
        try:
            self._check_padding(lambda ids, mask: beside_one(self._logits(input_ids=ids, attention_mask=mask)), self._padding)
        except ModelError as error:
            raise ModelError(
                f"{error}. Its head may look for the last token by pad_token_id of its config.json; correct it"
            ) from error

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Compute the logits of a batch, of shape (rows, labels)."""
        return self.model(**inputs).logits

    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Tokenise pairs, with the prompt before each query."""
        encodings = list(self.reader.encodings([(self._prompt + query, document) for query, document in pairs]))
        return [each.ids for each in encodings], [each.type_ids for each in encodings] if self._types else None

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> torch.Tensor:
        ids, mask = pad(window.ids, rows, self._padding)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if window.types is not None:
            inputs["token_type_ids"] = pad(window.types, rows, getattr(self.tokenizer, "pad_token_type_id", 0))[0]
        return self._logits(**{name: send(array, self.device) for name, array in inputs.items()}).float()

    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        relevant = logits[:, self._relevant]
        return relevant if logits.shape[1] == 1 else relevant - logits[:, 1 - self._relevant]


class PooledCrossEncoder(CrossEncoder):
    """A model without a head, a Pooling and a Dense that scores, as sentence-transformers saves them apart."""

    loader = "AutoModel"
    own_modules = ("Pooling", "Dense")
    backbone = "pooled rerank"

    def _check_folder(self) -> None:
        super()._check_folder()
        check_activation(self.folder, 1)
        self._pooling, self._dense = _steps(self.folder)
        if self._prompt and not self._pooling.settings["include_prompt"]:
            raise ModelError(f"{self.folder} leaves the tokens of its prompt out of the pooling, which is not done here")

    def _may_lack(self) -> str:
        return NOTHING if "pooler" in self._pooling.settings["modes"] else r"pooler\."

    def _relevant_label(self) -> int:
        """Load the layer that scores, which has one number."""
        self._head = load_head(self.folder, [self._dense], self.system.weights).to(self.device)
        return 0

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Compute the scores of a batch, of shape (rows, 1)."""
        return self._head(pool(self._pooling.settings["modes"], self.model(**inputs), inputs["attention_mask"]))


def _steps(folder: Path) -> tuple[Step, Step]:
    """Read the pooling of the tokens of a pair, and the layer that scores."""
    places = [module.place for module in saved_modules(folder)]
    pooling, dense = (module_config(folder / place, name) for place, name in zip(places, POOLED, strict=True))
    names = {key: dense.get(key) for key in NAMES}
    if names != NAMES or dense.get("out_features") != 1:
        raise ModelError(
            f"{folder / places[1]} makes {dense.get('out_features')} numbers with {names}; one was expected with {NAMES}"
        )
    return READERS["Pooling"](places[0], pooling), dense_step(places[1], dense)
