"""Language models as rerankers: the score is the log probability of the answer that the document is relevant."""

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from beirflow.computing.batching import pad
from beirflow.computing.model_limits import readable_tokens
from beirflow.models.card_modules import MODEL_CONFIG, transformer_config
from beirflow.models.model_json import MODULES, below
from beirflow.rerank.pair_scorer import Pair, PairScorer, TokenPairs, in_float32, read_optional
from beirflow.rerank.prompts import MONO_T5, Prompt, qwen3_prompt

logger = logging.getLogger(__name__)

KNOWN = ("What is the capital of France?", "Paris is the capital of France.")
"""A pair about which a model of this kind says one of its two words."""


class Answers(PairScorer):
    """A language model that answers a prompt with one of two words.

    The score is log p of the word for a relevant document, where p is the softmax over the logits of the two words alone. It is
    computed from their difference, since the logarithm of a probability near 1 would be 0 for many. What does not fit is cut from
    the longer of query and document first, so that the question stays whole: from the document alone, unless the query has more
    than half of the room. The last layer has these two words only, and computes in float32.
    """

    prompt: Prompt

    @property
    @abstractmethod
    def _asked(self) -> Prompt:
        """What the model is asked."""

    @abstractmethod
    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of what comes next, of shape (rows, words that the last layer knows)."""

    def _longest(self) -> int:
        """Tokens of the longest pair."""
        self.prompt = self._asked
        self._fast: Any = getattr(self.tokenizer, "backend_tokenizer", None)
        if self._fast is None:
            raise self._wrong(f"{self.folder} has no tokenizer.json, by which texts are cut; save its tokenizer as a fast one")
        readable = readable_tokens(self.model)
        asked = self.system.max_length
        if asked is not None and asked > readable:
            raise self._wrong(f"max_length is {asked}, but the model reads at most {readable} tokens; set another max_length")
        return int(asked or min(self.prompt.max_length, readable))

    def _prepare(self) -> None:
        """Find the two words, and let the last layer give their logits only."""
        self._fast.no_padding()
        self._fast.no_truncation()
        words = [self._word(word) for word in self.prompt.words]
        self._before, self._after = (self._own_ids(text) for text in (self.prompt.before, self.prompt.after))
        shortest = len(self._read([("", "")])[0][0]) + 2
        if self.max_length < shortest:
            found = f"max_length is {self.max_length}, and the question alone has {shortest - 2} tokens"
            raise self._wrong(f"{found}; set a larger max_length")
        self._check_answer(words)
        head = self.model.get_output_embeddings()
        both = torch.nn.Linear(head.in_features, 2, bias=head.bias is not None, device=self.device)
        both.load_state_dict({name: value.detach()[words] for name, value in head.named_parameters()})
        in_float32(both)
        self.model.set_output_embeddings(both)

    def _own_ids(self, text: str) -> list[int]:
        """Token ids of a text without special tokens around it."""
        ids: list[int] = self._fast.encode(text, add_special_tokens=False).ids
        return ids

    def _word(self, word: str) -> int:
        """The token of an answer."""
        ids = self._own_ids(word)
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            found = f"the tokenizer in {self.folder} has no single token for {word!r}, which the model would answer"
            raise self._wrong(f"{found}; it is another model")
        return ids[0]

    @torch.inference_mode()
    def _check_answer(self, words: Sequence[int]) -> None:
        """Say so where the model answers something else: its files do not tell what it was trained for."""
        ids = torch.tensor(self._read([KNOWN])[0], device=self.device)
        found = int(self._logits(ids, torch.ones_like(ids)).argmax())
        if found not in words:
            says, (relevant, other) = self.tokenizer.decode([found]), self.prompt.words
            logger.warning(
                "%s: asked about a pair, the model in %s says %r and neither %r nor %r; is it a reranker of this kind?",
                *(self.system.name, self.folder, says, relevant, other),
            )

    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Token ids of pairs; the special tokens of the tokenizer are around what is not tokenised by itself."""
        texts = [self.prompt.text(*pair) for pair in pairs]
        found = [[*self._before, *each.ids, *self._after] for each in self._fast.encode_batch_fast(texts)]
        for row, ids in enumerate(found):
            if len(ids) > self.max_length:
                found[row] = [*self._before, *self._cut(pairs[row]), *self._after]
        return found, None

    def _cut(self, pair: Pair) -> list[int]:
        """Token ids of a pair that is too long, without the last tokens of the longer of its texts."""
        encoding = self._fast.encode(self.prompt.text(*pair))
        ends = np.array([end for _, end in encoding.offsets])
        start = len(self.prompt.opening)
        query = np.flatnonzero((ends > start) & (ends <= start + len(pair[0])))
        start += len(pair[0]) + len(self.prompt.middle)
        document = np.flatnonzero((ends > start) & (ends <= start + len(pair[1])))
        fixed = len(ends) - len(query) - len(document) + len(self._before) + len(self._after)
        room = max(0, self.max_length - fixed)
        of_query = min(len(query), max(room - len(document), room // 2))
        left_out = {*query[of_query:].tolist(), *document[room - of_query :].tolist()}
        return [number for place, number in enumerate(encoding.ids) if place not in left_out]

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> np.ndarray:
        """Scores of one batch, float32 of shape (rows,)."""
        ids, mask = (torch.from_numpy(array).to(self.device) for array in pad(window.ids, rows, self.tokenizer.pad_token_id or 0))
        relevant, other = self._logits(ids, mask).cpu().double().numpy().T
        scores: np.ndarray = -np.logaddexp(0, other - relevant)
        return scores.astype(np.float32)


class MonoT5(Answers):
    """A T5 that says ``true`` or ``false`` as its first word."""

    loader = "AutoModelForSeq2SeqLM"

    @property
    def _asked(self) -> Prompt:
        return MONO_T5

    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        first = self._first_token()
        begin = torch.full((len(ids), 1), first, device=ids.device)
        found: torch.Tensor = self.model(input_ids=ids, attention_mask=mask, decoder_input_ids=begin, use_cache=False).logits[
            :, 0
        ]
        return found

    def _first_token(self) -> int:
        """The token that begins every answer."""
        config: Any = self.model.config
        first = config.decoder_start_token_id
        if first is None:
            raise self._wrong(f"{self.folder}/config.json has no decoder_start_token_id, which begins every answer")
        return int(first)


class Qwen3Reranker(Answers):
    """A decoder that says ``yes`` or ``no`` behind the prompt; its tokens see only those before them, and padding comes last."""

    loader = "AutoModelForCausalLM"
    own_modules = ("LogitScore",)

    def _prepare(self) -> None:
        """Make sure that the words are those of the module that sentence-transformers would score with, where there is one."""
        words = dict(zip(("true_token_id", "false_token_id"), map(self._word, self.prompt.words), strict=True))
        for module in read_optional(self.folder / MODULES, [])[1:]:
            said = read_optional(self.folder / below(self.folder, str(module.get("path"))) / MODEL_CONFIG)
            if any(said.get(name) != word for name, word in words.items()):
                raise self._wrong(
                    f"{self.folder} scores by the tokens {said}, and Qwen3-Reranker by {words}; it is another model"
                )
        self._check_question()
        super()._prepare()

    def _check_question(self) -> None:
        """Make sure that sentence-transformers, where it wrote the folder, would ask the same of a pair: by its chat template."""
        said = transformer_config(self.folder)
        if not said:
            return
        of_messages = (said.get("modality_config") or {}).get("message")
        arguments = (said.get("processing_kwargs") or {}).get("chat_template") or {}
        prompt, asked = qwen3_prompt(None), None
        if of_messages:
            parts = [[{"type": "text", "text": text}] if of_messages.get("format") == "structured" else text for text in KNOWN]
            messages = [{"role": role, "content": part} for role, part in zip(("query", "document"), parts, strict=True)]
            try:
                asked = self.tokenizer.apply_chat_template(messages, tokenize=False, **arguments)
            except Exception as error:  # templates raise what they like
                logger.info("the chat template in %s gives no question: %s", self.folder, error)
        if asked != prompt.before + prompt.text(*KNOWN) + prompt.after:
            found = f"with the files in {self.folder}, sentence-transformers would ask another question than Qwen3-Reranker"
            raise self._wrong(f"{found}; take the folder of its own authors")

    @property
    def _asked(self) -> Prompt:
        return qwen3_prompt(self.system.instruction)

    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        found: torch.Tensor = states[torch.arange(len(ids), device=ids.device), mask.sum(dim=1) - 1]
        return found
