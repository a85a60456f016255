"""The shortlist holds the best of everything that was offered, whatever the blocks."""

import numpy as np
import pytest
import torch
from beirflow.runs.shortlist import Shortlist
from hypothesis import given
from hypothesis import strategies as st

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
    best, places = shortlist.best()
    padded = torch.cat([scores, torch.full((queries, keep), -torch.inf)], dim=1)
    assert torch.equal(best, padded.sort(dim=1, descending=True).values[:, :keep])
    for query in range(queries):
        found = {int(place): float(score) for place, score in zip(places[query], best[query], strict=True) if score > -np.inf}
        assert len(found) == int((best[query] > -torch.inf).sum())
        assert all(scores[query, place] == score for place, score in found.items())


@pytest.mark.parametrize("block", [1, 3, 64, 1000])
def test_memory_does_not_grow_with_the_documents(block: int) -> None:
    shortlist = Shortlist(2, 10, CPU)
    scores = torch.randn(2, 1000)
    for start in range(0, 1000, block):
        shortlist.offer(slice(0, 2), scores[:, start : start + block], start)
    assert shortlist.scores.shape == shortlist.rows.shape == (2, 20)
    assert torch.equal(shortlist.best()[0], scores.topk(10, dim=1).values)
