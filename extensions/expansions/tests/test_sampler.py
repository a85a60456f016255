"""The draw of tokens: the distribution is that of transformers' warpers, and no document's draw depends on another's."""

import numpy as np
import pytest
import torch
from transformers import TopKLogitsWarper, TopPLogitsWarper

from beirflow.extensions.expansions.sampler import drawn, draws, pick, probabilities


def spread(logits: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """Give the distribution that is drawn from, over the whole vocabulary."""
    ids, found = probabilities(logits, top_k, top_p)
    return torch.zeros_like(logits, dtype=torch.float64).scatter(-1, ids, found / found.sum(-1, keepdim=True))


@pytest.mark.parametrize(("top_k", "top_p"), [(10, 1.0), (1, 1.0), (25, 0.95), (10, 0.3), (10, 1e-9), (1000, 1.0)])
def test_the_distribution_is_that_of_transformers(top_k: int, top_p: float) -> None:
    logits = torch.randn(20, 50, generator=torch.Generator().manual_seed(1)) * 3
    expected = TopKLogitsWarper(top_k)(None, logits)
    if top_p < 1:
        expected = TopPLogitsWarper(top_p)(None, expected)
    assert torch.allclose(spread(logits, top_k, top_p), expected.double().softmax(-1), atol=1e-6)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    logits = torch.randn(50, generator=torch.Generator().manual_seed(2))
    numbers = torch.from_numpy(draws(3, [str(i) for i in range(200)], 20, 50).ravel())
    found = pick(logits.expand(len(numbers), 50), numbers, 10, 1.0).bincount(minlength=50) / len(numbers)
    expected = spread(logits, 10, 1.0)
    assert (found - expected).abs().max() < 4 * (0.25 / len(numbers)) ** 0.5
    assert found[expected == 0].sum() == 0


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
def test_a_number_at_an_end_gives_a_candidate(number: float) -> None:
    logits = torch.tensor([[0.0, -1e9, 3.0, -1e9], [0.0, 0.0, 0.0, 0.0], [5.0, 4.0, -1e9, -1e9]])
    for top_k, top_p in ((4, 1.0), (3, 0.5), (1, 1.0)):
        found = pick(logits, torch.full((3,), number, dtype=torch.float64), top_k, top_p)
        weights = spread(logits, top_k, top_p)
        assert (weights[torch.arange(3), found] > 0).all()


def test_a_draw_depends_on_seed_document_query_and_place_alone() -> None:
    whole = draws(7, ["a", "b", "\u6771"], 4, 6)
    assert (draws(7, ["b"], 4, 6)[0] == whole[1]).all()
    assert (draws(7, ["\u6771", "a"], 2, 6) == whole[[2, 0], :2]).all()
    assert (draws(8, ["a"], 4, 6) != whole[:1]).all()
    assert len(np.unique(whole)) == whole.size
    assert 0 <= whole.min() <= whole.max() < 1


def test_the_numbers_are_the_same_on_every_machine_and_in_every_version() -> None:
    """Drawn once; they decide over every text."""
    assert draws(0, ["doc"], 1, 3)[0, 0].tolist() == [0.767609344774617, 0.021793652463132807, 0.450129550427973]


def test_a_draw_of_documents_is_their_own_and_grows() -> None:
    ids = [f"d{i}" for i in range(500)]
    assert drawn(1, ids, 60).sum() == 60
    assert (drawn(1, ids[::-1], 60)[::-1] == drawn(1, ids, 60)).all()
    assert drawn(1, ids, 90)[drawn(1, ids, 60)].all()
    assert (drawn(2, ids, 60) != drawn(1, ids, 60)).any()
    assert drawn(1, ids, 500).all()
    assert drawn(1, ids, 501).all()
