"""Excluded documents lose their scores, whichever queries and documents are looked at together."""

import numpy as np
import pytest
import torch
from beirflow.runs.excluded_pairs import ExcludedPairs

CPU = torch.device("cpu")


@pytest.mark.parametrize("some", [slice(0, 40), slice(7, 20), torch.tensor([30, 2, 5]), torch.tensor([], dtype=torch.long)])
@pytest.mark.parametrize("rows", [np.arange(60), np.arange(13, 29), np.random.default_rng(1).permutation(60)[:20], np.arange(0)])
def test_the_pairs_and_no_others_lose_their_scores(some: slice | torch.Tensor, rows: np.ndarray) -> None:
    excluded = np.random.default_rng(0).integers(-1, 60, size=(40, 4))  # a document may stand twice
    every = torch.zeros(40, 60)
    query, column = np.nonzero(excluded >= 0)
    every[query, excluded[query, column]] = -torch.inf
    expected = every[some][:, rows]
    scores = torch.zeros_like(expected)
    ExcludedPairs.of(excluded, CPU).leave_out(scores, some, torch.from_numpy(rows))
    assert torch.equal(scores, expected)
    if isinstance(some, torch.Tensor):
        scores.zero_()
        ExcludedPairs.of(excluded, CPU).of_queries(some).leave_out(scores, slice(None), torch.from_numpy(rows))
        assert torch.equal(scores, expected)
