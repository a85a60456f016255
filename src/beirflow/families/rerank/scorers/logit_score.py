"""Decoders whose folder defines their scores: by a chat template, and by answers that sentence-transformers compares."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.families.rerank.kinds import check_activation, saved_modules
from beirflow.families.rerank.scorers.language_models import Decoder
from beirflow.families.rerank.scorers.prompts import Prompt, read_template
from beirflow.models.card_modules import LOGITS, MODEL_CONFIG, known_settings
from beirflow.models.model_json import read_number, read_optional

OUTPUT = "causal_logits"
FORMATS = ("flat", "structured")

RESERVED = {
    *("chat_template", "conversations", "messages", "template", "tools", "documents"),
    *("tokenize", "padding", "truncation", "max_length", "return_tensors", "return_dict", "restore_suffix"),
    *("continue_final_message", "return_assistant_tokens_mask"),
}
"""Variables of a chat template that would do more than that."""


class LogitScorer(Decoder):
    """A decoder that sentence-transformers saved as a reranker.

    A score is the logit of the answer for a relevant document minus that of the other, or the first alone where there is one.
    """

    own_modules = ("LogitScore",)
    takes_prompt = True
    special_tokens = False

    def _check_folder(self) -> None:
        super()._check_folder()
        check_activation(self.folder, 1)
        self._ids = _answer_ids(self.folder)
        self._saved = _transformer_settings(self.folder)

    @property
    def _asked(self) -> Prompt:
        template = self.tokenizer.chat_template
        if not isinstance(template, str):
            raise ModelError(f"{self.folder} has no chat template, or several; its pairs are asked by one")
        system = self.system.instruction or self._prompt
        variables = {**self.tokenizer.special_tokens_map, **_variables(self.folder, self._saved)}
        structured = self._saved["modality_config"]["message"]["format"] == "structured"
        question = read_template(self.folder, template, structured, system, variables)
        if self.system.instruction and self.system.instruction not in question.opening + question.middle + question.closing:
            raise ModelError(f"the chat template in {self.folder} writes no instruction; remove it from the configuration")
        length = self._saved.get("max_seq_length") or self.tokenizer.model_max_length
        return replace(question, max_length=length)

    def _answers(self) -> list[int]:
        if max(self._ids) >= self._vocabulary:
            raise ModelError(f"{self.folder} scores by the tokens {self._ids}, but the model knows only {self._vocabulary}")
        return self._ids

    def _check_answer(self, words: Any) -> None:
        """Skip the check: the folder names the answers, so nothing is assumed."""

    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        relevant, *other = logits.astype(np.float64).T
        return relevant - other[0] if other else relevant


def _answer_ids(folder: Path) -> list[int]:
    """Return the tokens that a folder scores by: one, or that for a relevant document and the other."""
    modules = saved_modules(folder)
    path = folder / modules[0].place / MODEL_CONFIG
    saved = read_optional(path)
    strange = saved.keys() - {"true_token_id", "false_token_id", "module_input_name"} or len(modules) > 1
    both: list[Any] = [saved.get("true_token_id"), saved.get("false_token_id")]
    ids = both if both[1] is not None else both[:1]
    if strange or not all(map(_is_number, ids)) or saved.get("module_input_name", OUTPUT) != OUTPUT:
        raise ModelError(f"{path} holds {saved}; true_token_id was expected, and false_token_id or none, in one such module")
    return ids


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _transformer_settings(folder: Path) -> dict[str, Any]:
    """Return the settings that sentence-transformers saved of the model itself; refuse unknown ones."""
    saved = known_settings(folder, LOGITS)
    read_number(folder, saved, "max_seq_length")
    if saved.get("module_output_name", OUTPUT) != OUTPUT:
        raise ModelError(f"{folder}: the configuration of its Transformer has module_output_name, which is not {OUTPUT}")
    if _object(_object(saved.get("modality_config")).get("message")).get("format") not in FORMATS:
        raise ModelError(
            f"{folder}: the configuration of its Transformer names no 'message' with a format in modality_config, so its chat"
            " template would not be used"
        )
    return saved


def _variables(folder: Path, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a chat template besides the messages and the special tokens."""
    processing = _object(saved.get("processing_kwargs"))
    variables = _object(processing.get("chat_template"))
    plain = all(isinstance(value, str | bool | int | float | None) for value in variables.values())
    if processing.keys() - {"chat_template"} or variables.keys() & RESERVED or not plain:
        problem = f"the configuration of its Transformer has processing_kwargs {processing}"
        raise ModelError(f"{folder}: {problem}, which are not done here")
    return variables


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one in place of nothing, and one with an unknown key in place of something else."""
    return value if isinstance(value, dict) else {str(value): None} if value else {}
