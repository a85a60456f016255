"""Every text is in one batch, and no batch is larger than the budget."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.models.computing.batching import Tokens, pad, plan

LENGTHS = st.lists(st.integers(1, 40), max_size=60).map(lambda lengths: np.array(lengths, dtype=np.int64))


@given(lengths=LENGTHS, budget=st.integers(1, 100), packed=st.booleans())
def test_every_text_is_in_one_batch_that_keeps_to_the_budget(lengths: np.ndarray, budget: int, packed: bool) -> None:
    batches = list(plan(lengths, lambda: budget, packed=packed))
    order = np.concatenate([np.empty(0, np.int64), *batches])
    assert sorted(order) == list(range(len(lengths)))
    assert (np.diff(lengths[order]) <= 0).all()
    for rows in batches:
        cost = lengths[rows].sum() if packed else len(rows) * lengths[rows].max()
        assert cost <= budget or len(rows) == 1


@given(lengths=LENGTHS, budget=st.integers(40, 100), packed=st.booleans())
def test_no_batch_has_room_for_the_next_text(lengths: np.ndarray, budget: int, packed: bool) -> None:
    batches = list(plan(lengths, lambda: budget, packed=packed))
    for rows, following in pairwise(batches):
        cost = lengths[rows].sum() + lengths[following[0]] if packed else (len(rows) + 1) * lengths[rows].max()
        assert cost > budget


def test_a_budget_that_shrinks_counts_for_the_next_batch() -> None:
    budgets = iter([8, 4, 4, 4])
    assert [len(rows) for rows in plan(np.full(6, 2), lambda: next(budgets), packed=False)] == [4, 2]


TEXTS = [[2, 7, 3], [2, 3], [2, 8, 9, 3], [], [2, 5, 3]]


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [2, 0], [1], [4, 2, 0]])
def test_ids_and_places_are_those_of_the_texts_in_turn(rows: list[int]) -> None:
    ids, places = Tokens.of(0, TEXTS).select(np.array(rows))
    assert ids.tolist() == [token for row in rows for token in TEXTS[row]]
    assert places.tolist() == [place for row in rows for place in range(len(TEXTS[row]))]


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [2, 0], [1]])
def test_padding_fills_to_the_longest_and_is_masked(rows: list[int]) -> None:
    ids, mask = pad(Tokens.of(0, TEXTS), np.array(rows), padding=99)
    longest = max(len(TEXTS[row]) for row in rows)
    assert ids.tolist() == [TEXTS[row] + [99] * (longest - len(TEXTS[row])) for row in rows]
    assert mask.tolist() == [[1] * len(TEXTS[row]) + [0] * (longest - len(TEXTS[row])) for row in rows]
