"""Pooling in blocks gives what an array of all positions and terms would."""

import pytest
import torch
from beirflow.sparse import pooling
from beirflow.sparse.pooling import Vocabulary, keep_most, pool_terms
from pairs import pairs

TEXTS, POSITIONS, DIM, TERMS = 5, 7, 8, 50


def whole(hidden: torch.Tensor, mask: torch.Tensor, vocabulary: Vocabulary, how: str, activation: str) -> torch.Tensor:
    """The formula, with everything in memory."""
    logits = hidden @ vocabulary.matrix.T + (0 if vocabulary.bias is None else vocabulary.bias)
    found = torch.log(1 + logits.clamp(min=0))
    found = (torch.log(1 + found) if activation == "log1p_relu" else found) * mask[:, :, None]
    return found.amax(dim=1) if how == "max" else found.sum(dim=1)


@pytest.mark.parametrize(
    ("how", "activation", "blocks", "with_bias"),
    pairs(["max", "sum"], ["relu", "log1p_relu"], [(256, 1024), (1, 1), (14, 16)], [True, False]),
)
def test_blocks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, how: str, activation: str, blocks: tuple[int, int], with_bias: bool
) -> None:
    monkeypatch.setattr(pooling, "CPU_TOKENS", blocks[0])
    monkeypatch.setattr(pooling, "CPU_TERMS", blocks[1])
    torch.manual_seed(0)
    hidden, matrix, bias = torch.randn(TEXTS, POSITIONS, DIM), torch.randn(TERMS, DIM), torch.randn(TERMS)
    lengths = torch.tensor([7, 7, 3, 1, 2])
    mask = (torch.arange(POSITIONS) < lengths[:, None]).long()
    vocabulary = Vocabulary(matrix, bias if with_bias else None)
    expected = whole(hidden, mask, vocabulary, how, activation)
    # What padding holds is of no account.
    hidden = torch.where(mask[:, :, None] > 0, hidden, 1e3 if how == "sum" else torch.inf)
    found = pool_terms(hidden, mask, vocabulary, pooling=how, activation=activation)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_not_a_number_stays_one() -> None:
    hidden = torch.randn(2, 3, DIM)
    hidden[1, 2, 0] = torch.nan
    found = pool_terms(hidden, torch.ones(2, 3), Vocabulary(torch.randn(TERMS, DIM), None))
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_of_equal_weights_the_first_terms_are_kept(most: int) -> None:
    weights = torch.tensor([[1.0, 3, 2, 2, 2], [0, 0, 5, 0, 0], [1, 1, 1, 1, 1]])
    found = keep_most(weights, most)
    for row, kept in zip(weights.tolist(), found.tolist(), strict=True):
        best = sorted(range(5), key=lambda term: (-row[term], term))[:most]
        assert kept == [weight if term in best else 0 for term, weight in enumerate(row)]
