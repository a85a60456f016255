"""The shortlist holds the best of everything that was offered, whatever the parts and the guess."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from beirflow.ranking import shortlist as module
from beirflow.ranking.ranking import Cut
from beirflow.ranking.shortlist import Shortlist, rank_in_sample, search_with_guess
from beirflow.run.threads import Threads
from listening import heard

CPU = torch.device("cpu")


def searching(scores: np.ndarray, blocks: list[int]) -> Callable[[np.ndarray, Shortlist], None]:
    """Return a search of documents in blocks that begin at some rows."""

    def search(which: np.ndarray, shortlist: Shortlist) -> None:
        for start, stop in zip(blocks, [*blocks[1:], scores.shape[1]], strict=True):
            query, row = np.nonzero(scores[which, start:stop] >= shortlist.least[:, None])
            row += start
            shortlist.add((query.astype(np.int32), row.astype(np.int32), scores[which[query], row]), len(which))
            shortlist.settle()

    return search


@given(data=st.data(), count=st.integers(1, 60), k=st.integers(1, 12), queries=st.integers(1, 4))
def test_the_best_are_those_of_sorting_everything(data: st.DataObject, count: int, k: int, queries: int) -> None:
    """A guess may be too high, and no score tells documents apart."""
    values = st.integers(-5, 5).map(float)
    rows = data.draw(st.lists(st.lists(values, min_size=count, max_size=count), min_size=queries, max_size=queries))
    scores = np.array(rows, np.float32)
    blocks = sorted({0, *data.draw(st.lists(st.integers(0, count - 1)))})
    guess = np.array(data.draw(st.lists(st.one_of(values, st.just(-np.inf)), min_size=queries, max_size=queries)), np.float32)
    order = np.random.default_rng(count).permutation(count)
    with Threads(CPU) as threads:
        found = search_with_guess(searching(scores, blocks), guess, Cut(k, order, np.empty(0)), threads)
    best = [sorted(range(count), key=lambda row, of=of: (-of[row], -order[row]))[:k] for of in scores.tolist()]  # type: ignore[misc]
    expected = [(query, row, scores[query, row]) for query, of in enumerate(best) for row in of]
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_memory_does_not_grow_with_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = heard(monkeypatch, Cut, "first_of", lambda _, lists: sum(len(query) for query, *_ in lists))
    scores = np.ones((3, 10_000), np.float32)
    with Threads(CPU) as threads:
        none = np.full(3, -np.inf, np.float32)
        search_with_guess(searching(scores, list(range(0, 10_000, 100))), none, Cut(10, np.arange(10_000), np.empty(0)), threads)
    assert max(sizes) <= 3 * 100 + 3 * module.ROOM * 10


@pytest.mark.parametrize("documents", [3000, 200_000])
def test_a_guess_from_a_sample_is_rarely_too_high_and_exact_where_the_sample_is_everything(documents: int) -> None:
    rng, size = np.random.default_rng(0), min(3000, documents)
    rank = rank_in_sample(1000, size, documents)
    assert (rank == 1000) == (size == documents)
    assert rank_in_sample(documents + 1, documents, documents) > documents
    reaching = [np.count_nonzero(all_ >= np.sort(all_[:size])[-rank]) for all_ in rng.random((200, documents))]
    assert np.min(reaching) >= 1000
    assert np.mean(reaching) < 4000
