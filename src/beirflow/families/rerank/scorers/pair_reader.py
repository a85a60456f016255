"""Pairs as tokens: two texts as the tokenizer itself reads them together, or a question about both."""

from collections.abc import Sequence

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.families.rerank.scorers.prompts import Pair, Prompt
from beirflow.models.computing.model_limits import UNLIMITED
from beirflow.models.computing.token_reader import TokenReader

Ids = list[list[int]]
"""Numbers of each pair: of its tokens, or of the text of each token."""


class TextPairs:
    """Pairs of two texts, with a prompt before the query; cut from the longer text first."""

    def __init__(self, reader: TokenReader, prompt: str) -> None:
        self._reader, self._prompt = reader, prompt

    def cut(self, longest: int) -> None:
        """Cut pairs after so many tokens from now on."""
        self._reader.cut(longest)

    def read(self, pairs: Sequence[Pair]) -> tuple[Ids, Ids]:
        """Tokenise pairs; return ids and types."""
        encodings = list(self._reader.encodings([(self._prompt + query, document) for query, document in pairs]))
        return [each.ids for each in encodings], [each.type_ids for each in encodings]


class AskedPairs:
    """Pairs in a question, which stays whole.

    What does not fit is cut from the longer of query and document first: from the document alone, unless the query has more than
    half of the room.
    """

    def __init__(self, reader: TokenReader, question: Prompt) -> None:
        self._question, self._fast = question, reader.fast
        self.before, self.after = (
            self._fast.encode(text, add_special_tokens=False).ids for text in (question.before, question.after)
        )

    def cut(self, longest: int) -> None:
        """Cut pairs after so many tokens from now on. Raises ModelError if the question leaves no room."""
        self._longest = UNLIMITED
        needed = len(self.read([("", "")])[0][0])
        if longest < needed + 2:  # a token of the query and one of the document
            raise ModelError(f"max_length is {longest}, and the question alone has {needed} tokens; set a larger max_length")
        self._longest = longest

    def read(self, pairs: Sequence[Pair]) -> tuple[Ids, None]:
        """Tokenise pairs."""
        pairs = [(query.strip(), document.strip()) for query, document in pairs] if self._question.strip else pairs
        texts = [self._question.text(*pair) for pair in pairs]
        encodings = self._fast.encode_batch_fast(texts, add_special_tokens=self._question.special_tokens)
        tokens = [[*self.before, *each.ids, *self.after] for each in encodings]
        for row, ids in enumerate(tokens):
            if len(ids) > self._longest:
                tokens[row] = [*self.before, *self._cut(pairs[row]), *self.after]
        return tokens, None

    def _cut(self, pair: Pair) -> list[int]:
        """Tokenise a pair that is too long, without the last tokens of the longer of its texts."""
        encoding = self._fast.encode(self._question.text(*pair), add_special_tokens=self._question.special_tokens)
        ends = np.array([end for _, end in encoding.offsets])
        start = len(self._question.opening)
        query = np.flatnonzero((ends > start) & (ends <= start + len(pair[0])))
        start += len(pair[0]) + len(self._question.middle)
        document = np.flatnonzero((ends > start) & (ends <= start + len(pair[1])))
        fixed = len(ends) - len(query) - len(document) + len(self.before) + len(self.after)
        room = max(0, self._longest - fixed)
        of_query = min(len(query), max(room - len(document), room // 2))
        left_out = {*query[of_query:].tolist(), *document[room - of_query :].tolist()}
        return [number for place, number in enumerate(encoding.ids) if place not in left_out]
