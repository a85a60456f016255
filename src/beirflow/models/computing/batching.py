"""Batches of token ids: padded to one length, or packed end to end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from beirflow.core.errors import ModelError

UNLIMITED = 10**9
"""Tokens: more than any model reads. transformers writes larger numbers where there is no limit."""


class Tokens(NamedTuple):
    """Token ids of n consecutive texts."""

    start: int  # index of the first text
    ids: np.ndarray  # ids of all texts, one after another, int64 of shape (tokens,)
    lengths: np.ndarray  # tokens of each text, int64 of shape (n,)

    @classmethod
    def of(cls, start: int, texts: Iterable[Sequence[int]]) -> "Tokens":
        """Concatenate a list of ids for each text; it is fastest where each list is made only when it is read."""
        lengths = list[int]()

        def counted() -> Iterator[Sequence[int]]:
            """Yield the tokens of each text and note their number."""
            for ids in texts:
                lengths.append(len(ids))
                yield ids

        ids = np.fromiter(chain.from_iterable(counted()), np.int64)
        return cls(start, ids, np.array(lengths, np.int64))

    def check(self, known: int, owner: str) -> "Tokens":
        """Return the tokens; refuse ids that a model, which knows the first ``known``, has no vector for; ``owner`` names it."""
        highest = int(self.ids.max(initial=0))
        if highest >= known:
            problem = f"the tokenizer gives the token {highest}, but the model knows only {known}"
            raise ModelError(f"{owner}: {problem}; they do not belong together, save both again")
        return self

    def select(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the concatenated ids of some texts, and the place of each in its text, both int64 of shape (tokens,)."""
        lengths = self.lengths[rows]
        places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        starts = np.cumsum(self.lengths) - self.lengths
        return self.ids[np.repeat(starts[rows], lengths) + places], places


def plan(lengths: np.ndarray, budget: Callable[[], int], *, packed: bool) -> Iterator[np.ndarray]:
    """Divide texts into batches, longest first, and yield the rows of each, int64; ``lengths`` has the tokens of each text.

    ``budget`` gives the tokens of a batch; it is called before each, since it may shrink. A longer text has a batch of its own. A
    packed batch costs its tokens, another the tokens of its longest text for every text.
    """
    # Stable, so that texts of equal length are batched the same way in every run.
    order = np.argsort(-lengths, kind="stable")
    costs = np.cumsum(lengths[order])
    position = 0
    while position < len(order):
        if packed:
            before = costs[position] - lengths[order[position]]
            end = int(np.searchsorted(costs, before + budget(), side="right"))
        else:
            end = position + budget() // max(1, int(lengths[order[position]]))
        # A text longer than the budget is a batch of its own.
        end = max(end, position + 1)
        yield order[position:end]
        position = end


def pad(tokens: Tokens, rows: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids, filled to the longest text, and a mask, 0 for padding; both int64 of shape (rows, longest)."""
    lengths = tokens.lengths[rows]
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, dtype=np.int64)
    ids[mask] = tokens.select(rows)[0]
    return ids, mask.astype(np.int64)
