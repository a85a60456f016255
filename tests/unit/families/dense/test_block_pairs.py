"""Excluded documents lose their scores, whichever queries and documents are looked at together."""

import numpy as np
import pytest
import torch

from beirflow.families.dense.block_pairs import ExcludedPairs


@pytest.mark.parametrize("rows", [slice(0, 60), slice(13, 29), slice(29, 60), slice(59, 60)])
def test_the_pairs_and_no_others_lose_their_scores(rows: slice) -> None:
    excluded = np.random.default_rng(0).integers(-1, 60, size=(40, 4))  # a document may stand twice
    expected = torch.zeros(40, 60)
    query, column = np.nonzero(excluded >= 0)
    expected[query, excluded[query, column]] = -torch.inf
    scores = torch.zeros(expected[:, rows].shape)
    ExcludedPairs.of(torch.from_numpy(excluded), [0, 13, 29, 59]).leave_out(scores, rows.start)
    assert torch.equal(scores, expected[:, rows])
