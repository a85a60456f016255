"""Language models as rerankers: the score is the log probability of the answer that the document is relevant."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.families.rerank.kinds import check_activation
from beirflow.families.rerank.scorers.pair_scorer import PairScorer, in_float32
from beirflow.families.rerank.scorers.prompts import MONO_T5, Prompt, qwen3_prompt
from beirflow.models.card_modules import MODEL_CONFIG
from beirflow.models.model_json import Module, read_optional

KNOWN = ("What is the capital of France?", "Paris is the capital of France.")
"""A pair for which a model of this kind gives one of its two words."""

OUTPUT = "causal_logits"  # name in sentence-transformers of what answers are compared by


class LanguageModel(PairScorer):
    """A language model whose last layer is reduced to its answers, and computes in float32."""

    def _prepare(self) -> None:
        """Find the answers, and reduce the last layer to them."""
        words = self._answers()
        head = self.model.get_output_embeddings()
        few = torch.nn.Linear(head.in_features, len(words), bias=head.bias is not None, device=self.device)
        few.load_state_dict({name: value.detach()[words] for name, value in head.named_parameters()})
        in_float32(few)
        self.model.set_output_embeddings(few)
        self._check_logits()

    @abstractmethod
    def _answers(self) -> list[int]:
        """Return the tokens of the answers, that for a relevant document first."""


class Decoder(LanguageModel):
    """A decoder that answers behind the prompt; its tokens see only those before them, and padding comes last."""

    loader = "AutoModelForCausalLM"

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        states, lengths = self.model(**inputs, use_cache=False).logits, inputs["attention_mask"].sum(dim=1)
        return states[torch.arange(len(states), device=states.device), lengths - 1]


class LogitScorer(Decoder):
    """A decoder that sentence-transformers saved as a reranker, with the answers that it compares.

    A score is the logit of the answer for a relevant document minus that of the other, or the first alone where there is one.
    """

    def _check_modules(self, modules: Sequence[Module]) -> None:
        """Read the tokens that a folder scores by: one, or that for a relevant document and the other."""
        check_activation(self.folder, 1)
        super()._check_modules([module for module in modules if not module.type.endswith("LogitScore")])
        path = self.folder / modules[0].place / MODEL_CONFIG
        saved = read_optional(path)
        strange = saved.keys() - {"true_token_id", "false_token_id", "module_input_name"} or len(modules) > 1
        ids: list[Any] = [saved.get("true_token_id"), *filter(lambda number: number is not None, [saved.get("false_token_id")])]
        numbers = all(type(number) is int and number >= 0 for number in ids)
        if strange or not numbers or saved.get("module_input_name", OUTPUT) != OUTPUT:
            raise ModelError(f"{path} holds {saved}; true_token_id was expected, and false_token_id or none, in one such module")
        self._ids = ids

    def _answers(self) -> list[int]:
        if max(self._ids) >= self._vocabulary:
            raise ModelError(f"{self.folder} scores by the tokens {self._ids}, but the model knows only {self._vocabulary}")
        return self._ids


class Words(LanguageModel):
    """A language model that answers with one of two words, as the configuration states.

    The score is log p of the word for a relevant document, where p is the softmax over the logits of the two words alone. It is
    computed from their difference, since the logarithm of a probability near 1 would be 0 for many.
    """

    prompt: Prompt

    def _answers(self) -> list[int]:
        words = [self._word(word) for word in self.prompt.words]
        self._check_answer(words)
        return words

    def _word(self, word: str) -> int:
        ids = self.reader.fast.encode(word, add_special_tokens=False).ids
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            problem = f"the tokenizer in {self.folder} has no single token for {word!r}, which the model would answer"
            raise ModelError(f"{problem}; it is another model")
        return ids[0]

    @torch.inference_mode()
    def _check_answer(self, words: Sequence[int]) -> None:
        """Record an assumption if the model answers something else: its files do not tell what it was trained for."""
        ids = torch.tensor(self.pairs.read([KNOWN])[0], device=self.device)
        answer = int(self._logits(input_ids=ids, attention_mask=torch.ones_like(ids)).argmax())
        if answer not in words:
            says, (relevant, other) = self.tokenizer.decode([answer]), self.prompt.words
            self.assumed.append(
                f"{self.name}: its model is a reranker that answers {relevant!r} or {other!r}, as 'kind' says, although"
                f" it answers {says!r} when it is asked about a pair"
            )

    def _question(self) -> Prompt:
        return self.prompt

    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        relevant, other = logits.astype(np.float64).T
        return -np.logaddexp(0, other - relevant)


class MonoT5(Words):
    """A T5 that says ``true`` or ``false`` as its first word."""

    loader = "AutoModelForSeq2SeqLM"
    prompt = MONO_T5

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        first = self.model.config.decoder_start_token_id
        if first is None:
            raise ModelError(f"{self.folder}/config.json has no decoder_start_token_id, which begins every answer")
        begin = torch.full((len(inputs["input_ids"]), 1), first, device=self.device)
        return self.model(**inputs, decoder_input_ids=begin, use_cache=False).logits[:, 0]


class Qwen3Reranker(Words, Decoder):
    """A decoder that says ``yes`` or ``no``, asked as its model card asks it."""

    def _question(self) -> Prompt:
        self.prompt = qwen3_prompt(self.system.instruction)
        return self.prompt
