"""The shortlist holds the best of everything that was offered, whatever the blocks."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from beirflow.ranking.shortlist import Shortlist

CPU = torch.device("cpu")


@given(data=st.data(), count=st.integers(0, 60), keep=st.integers(1, 12), queries=st.integers(1, 4))
def test_the_best_are_those_of_sorting_everything(data: st.DataObject, count: int, keep: int, queries: int) -> None:
    values = st.one_of(st.integers(-5, 5).map(float), st.just(-np.inf))
    rows = data.draw(st.lists(st.lists(values, min_size=count, max_size=count), min_size=queries, max_size=queries))
    scores = torch.tensor(rows).reshape(queries, count)
    shortlist, start = Shortlist(queries, keep, CPU), 0
    while start < count:
        size = data.draw(st.integers(1, count - start))
        for first in range(0, queries, step := data.draw(st.integers(1, queries))):
            part = slice(first, min(first + step, queries))
            shortlist.offer(part, scores[part, start : start + size], start)
        start += size
    padded = torch.cat([scores, torch.full((queries, 3 * keep), -torch.inf)], dim=1).sort(dim=1, descending=True).values
    for k in range(1, keep + 1):
        kth = shortlist.kth(k, slice(0, queries))
        assert torch.equal(kth, padded[:, k - 1])
        found = shortlist.candidates(kth)
        assert not len(found.few)
        for query in range(queries):
            rows = found.row[found.query == query].tolist()
            expected = torch.nonzero((scores[query] >= kth[query]) & (scores[query] > -torch.inf)).flatten().tolist()
            assert sorted(rows) == ([] if query in found.crowded else expected)
            assert query not in found.crowded or len(expected) >= keep


@pytest.mark.parametrize("block", [1, 3, 64, 1000])
def test_memory_does_not_grow_with_the_documents(block: int) -> None:
    shortlist = Shortlist(2, 10, CPU)
    scores = torch.randn(2, 1000)
    for start in range(0, 1000, block):
        shortlist.offer(slice(0, 2), scores[:, start : start + block], start)
    assert shortlist.scores.shape == shortlist.rows.shape == (2, 20)
    found = shortlist.candidates(shortlist.kth(9, slice(0, 2)))
    assert found.query.tolist() == [0] * 9 + [1] * 9
    for query in range(2):
        assert set(found.row[found.query == query].tolist()) == set(scores[query].topk(9).indices.tolist())


def test_queries_whose_guess_was_too_high_are_told_from_crowded_ones() -> None:
    scores = torch.tensor([[5.0, 4, 3, 2, 1, 0], [5.0, 5, 5, 5, 5, 5], [5.0, 4, 4, 4, 4, 4]])
    shortlist = Shortlist(3, 2, CPU, torch.tensor([[3.5], [-1.0], [4.5]]))
    for query in range(3):
        shortlist.offer(slice(query, query + 1), scores[query : query + 1], 0)
    found = shortlist.candidates(torch.tensor([4.0, 5.0, 4.0]))
    assert (found.crowded.tolist(), found.few.tolist()) == ([1, 2], [2])
    assert (found.query.tolist(), found.row.tolist()) == ([0, 0], [0, 1])
