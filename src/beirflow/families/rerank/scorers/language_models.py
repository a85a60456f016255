"""Language models as rerankers: the score is the log probability of the answer that the document is relevant."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.families.rerank.scorers.pair_scorer import Pair, PairScorer, TokenPairs, beside_one, in_float32
from beirflow.families.rerank.scorers.prompts import MONO_T5, Prompt, qwen3_prompt
from beirflow.models.computing.arrival import send
from beirflow.models.computing.batching import pad

KNOWN = ("What is the capital of France?", "Paris is the capital of France.")
"""A pair for which a model of this kind gives one of its two words."""


class Answers(PairScorer):
    """A language model that answers a prompt with one of two words.

    The score is log p of the word for a relevant document, where p is the softmax over the logits of the two words alone. It is
    computed from their difference, since the logarithm of a probability near 1 would be 0 for many. What does not fit is cut from
    the longer of query and document first, so that the question stays whole: from the document alone, unless the query has more
    than half of the room. The last layer has these two words only, and computes in float32.
    """

    prompt: Prompt

    special_tokens = True
    """Use of the tokenizer's special tokens around what is not tokenised by itself."""

    @property
    @abstractmethod
    def _asked(self) -> Prompt:
        """Return the question to the model."""

    @abstractmethod
    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute the logits of the next token, of shape (rows, words that the last layer knows)."""

    def _longest(self) -> int:
        self.prompt = self._asked
        self._fast = self.reader.fast  # which must not cut the question
        if self._fast is None:
            raise ModelError(f"{self.folder} has no tokenizer.json, by which texts are cut; save its tokenizer as a fast one")
        return self._length(None, self.prompt.max_length)

    def _prepare(self) -> None:
        """Find the answers, and reduce the last layer to them."""
        words = self._answers()
        self._before, self._after = (self._own_ids(text) for text in (self.prompt.before, self.prompt.after))
        shortest = len(self._read([("", "")])[0][0]) + 2  # a token of the query and one of the document
        if self.max_length < shortest:
            problem = f"max_length is {self.max_length}, and the question alone has {shortest - 2} tokens"
            raise ModelError(f"{problem}; set a larger max_length")
        self._check_answer(words)
        head = self.model.get_output_embeddings()
        few = torch.nn.Linear(head.in_features, len(words), bias=head.bias is not None, device=self.device)
        few.load_state_dict({name: value.detach()[words] for name, value in head.named_parameters()})
        in_float32(few)
        self.model.set_output_embeddings(few)
        self._check_padding(lambda ids, mask: beside_one(self._logits(ids, mask)), self.tokenizer.pad_token_id or 0)

    def _answers(self) -> list[int]:
        """Return the tokens of the answers, that for a relevant document first."""
        return [self._word(word) for word in self.prompt.words]

    def _own_ids(self, text: str) -> list[int]:
        return self._fast.encode(text, add_special_tokens=False).ids

    def _word(self, word: str) -> int:
        ids = self._own_ids(word)
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            problem = f"the tokenizer in {self.folder} has no single token for {word!r}, which the model would answer"
            raise ModelError(f"{problem}; it is another model")
        return ids[0]

    @torch.inference_mode()
    def _check_answer(self, words: Sequence[int]) -> None:
        """Record an assumption if the model answers something else: its files do not tell what it was trained for."""
        ids = torch.tensor(self._read([KNOWN])[0], device=self.device)
        answer = int(self._logits(ids, torch.ones_like(ids)).argmax())
        if answer not in words:
            says, (relevant, other) = self.tokenizer.decode([answer]), self.prompt.words
            self.assumed.append(
                f"{self.system.name}: its model is a reranker that answers {relevant!r} or {other!r}, as 'kind' says, although"
                f" it answers {says!r} when it is asked about a pair"
            )

    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Tokenise pairs; the special tokens of the tokenizer are around what is not tokenised by itself."""
        pairs = [(query.strip(), document.strip()) for query, document in pairs] if self.prompt.strip else pairs
        texts = [self.prompt.text(*pair) for pair in pairs]
        tokens = [
            [*self._before, *each.ids, *self._after]
            for each in self._fast.encode_batch_fast(texts, add_special_tokens=self.special_tokens)
        ]
        for row, ids in enumerate(tokens):
            if len(ids) > self.max_length:
                tokens[row] = [*self._before, *self._cut(pairs[row]), *self._after]
        return tokens, None

    def _cut(self, pair: Pair) -> list[int]:
        """Tokenise a pair that is too long, without the last tokens of the longer of its texts."""
        encoding = self._fast.encode(self.prompt.text(*pair), add_special_tokens=self.special_tokens)
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

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> torch.Tensor:
        ids, mask = (send(array, self.device) for array in pad(window.ids, rows, self.tokenizer.pad_token_id or 0))
        return self._logits(ids, mask).float()

    def _scores_of(self, logits: np.ndarray) -> np.ndarray:
        relevant, other = logits.astype(np.float64).T
        return -np.logaddexp(0, other - relevant)


class MonoT5(Answers):
    """A T5 that says ``true`` or ``false`` as its first word."""

    loader = "AutoModelForSeq2SeqLM"

    @property
    def _asked(self) -> Prompt:
        return MONO_T5

    def _prepare(self) -> None:
        first = self.model.config.decoder_start_token_id
        if first is None:
            raise ModelError(f"{self.folder}/config.json has no decoder_start_token_id, which begins every answer")
        self._first = int(first)
        super()._prepare()

    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        begin = torch.full((len(ids), 1), self._first, device=ids.device)
        return self.model(input_ids=ids, attention_mask=mask, decoder_input_ids=begin, use_cache=False).logits[:, 0]


class Decoder(Answers):
    """A decoder that answers behind the prompt; its tokens see only those before them, and padding comes last."""

    loader = "AutoModelForCausalLM"

    def _logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        return states[torch.arange(len(ids), device=ids.device), mask.sum(dim=1) - 1]


class Qwen3Reranker(Decoder):
    """A decoder that says ``yes`` or ``no``, asked as its model card asks it."""

    @property
    def _asked(self) -> Prompt:
        return qwen3_prompt(self.system.instruction)
