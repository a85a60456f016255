"""Cross-encoders: sequence classifiers, whose raw logit is the score of a pair, whole or saved in parts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.families.rerank.kinds import check_activation
from beirflow.families.rerank.scorers.pair_scorer import PairScorer, in_float32
from beirflow.models.card_files import step_of
from beirflow.models.card_modules import dense_step, module_config
from beirflow.models.computing.folder_tokenizer import assumed_types
from beirflow.models.computing.loading import NOTHING
from beirflow.models.computing.pooling import pool
from beirflow.models.encoders.head import load_head
from beirflow.models.model_json import MODULES, Module

OPPOSITES = {"relevant": "irrelevant", "entailment": "contradiction", "positive": "negative", "related": "unrelated"}
OPPOSITES |= {"true": "false", "yes": "no", "1": "0"}
"""Names of labels that mean relevant, each with the name of its opposite."""

UNNAMED = ("label_0", "label_1")  # names that transformers gives to two labels without names

LABELS = (1, 2)
HEADS = ("classifier", "score")  # names of the last layers in the models of transformers

SCORES = {"module_input_name": "sentence_embedding", "module_output_name": "scores", "out_features": 1}
"""Settings of the module that makes the score."""

AFTER_POOLING = ("dense", "layer_norm", "normalize")  # kinds of modules behind it


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

    A score is the raw logit; with two labels, that of the relevant one minus that of the other. In half precision, the last
    layers compute in float32.
    """

    loader = "AutoModelForSequenceClassification"
    left_over = r"(^|\.)(pooler|cls\.(predictions|seq_relationship)|lm_head|vocab_(transform|layer_norm|projector))\."

    def _prepare(self) -> None:
        """Refuse encoder-decoders, and find the label that counts."""
        if getattr(self.model.config, "is_encoder_decoder", False):
            problem = f"the model in {self.folder} is an encoder-decoder of type {self.model.config.model_type}"
            raise ModelError(f"{problem}, which reads pairs differently from a cross-encoder")
        self._second_counts = self._find_label()
        if self.dtype != torch.float32:
            for head in filter(None, (getattr(self.model, name, None) for name in HEADS)):
                in_float32(head)
        self._check_padding(lambda **inputs: self.model.base_model(**inputs).last_hidden_state[inputs["attention_mask"] > 0])
        try:
            self._check_logits()
        except ModelError as error:
            raise ModelError(
                f"{error}. Its head may look for the last token by pad_token_id of its config.json; correct it"
            ) from error
        if self._types:
            self.assumed += assumed_types(self.name, self.tokenizer)

    def _find_label(self) -> bool:
        """Return whether the second of two labels means relevant."""
        config = self.model.config
        if config.num_labels not in LABELS:
            problem = f"the model in {self.folder} has {config.num_labels} labels"
            raise ModelError(f"{problem}; one was expected, or two of which one means relevant")
        check_activation(self.folder, config.num_labels)
        if config.num_labels == 1:
            return False
        with model_errors_of(str(self.folder)):
            named = relevant_label(config.id2label, config.label2id)
        if named is None:
            self.assumed.append(f"{self.name}: of the two labels of its model, which have no names, the second means relevant")
        return named != 0

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(**inputs).logits
        return logits.flip(1) if self._second_counts else logits


class PooledCrossEncoder(CrossEncoder):
    """A model without a head, a Pooling, and modules of which the last, a Dense, scores, as sentence-transformers saves them."""

    loader = "AutoModel"

    def _check_modules(self, modules: Sequence[Module]) -> None:
        """Read the pooling of the tokens of a pair, and the modules behind it."""
        check_activation(self.folder, 1)
        *others, last = modules
        dense = module_config(self.folder / last.place, "Dense") if last.name == "Dense" else {}
        if {key: dense.get(key) for key in SCORES} != SCORES:
            raise ModelError(f"{self.folder / last.place} is a {last.type} with {dense}; expected a Dense with {SCORES}")
        steps = [step for module in others for step in step_of(self.folder, module, "documents")]
        self._steps = [*steps, dense_step(last.place, dense)]
        kinds = [step.kind for step in self._steps]
        if "pooling" in kinds[1:] or not {*kinds[1:]} <= {*AFTER_POOLING}:
            expected = f"one pooling, and then {', '.join(AFTER_POOLING)}"
            raise ModelError(f"{self.folder / MODULES}: behind the model are {', '.join(kinds)}; expected {expected}")

    def _may_lack(self) -> str:
        return NOTHING if "pooler" in self._steps[0].settings["modes"] else r"pooler\."

    def _find_label(self) -> bool:
        """Load the modules behind the pooling, which make one number."""
        self._head = load_head(self.folder, self._steps[1:], self.system.weights).to(self.device)
        return False

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        return self._head(pool(self._steps[0].settings["modes"], self.model(**inputs), inputs["attention_mask"]))
