"""Weights of ranks are the correctly rounded ones, on each processor."""

from decimal import Decimal, localcontext
from fractions import Fraction

from beirflow.ranking.measures.rbp import PERSISTENCE
from beirflow.ranking.measures.weights import discounts, powers


def test_discounts_are_logarithms_to_60_digits_rounded_once() -> None:
    with localcontext(prec=60):
        expected = [float(Decimal(rank + 1).ln() / Decimal(2).ln()) for rank in range(1, 1001)]
    assert discounts(1000).tolist() == expected


def test_powers_are_exact_ones_rounded_once() -> None:
    assert powers(PERSISTENCE, 100).tolist() == [float(Fraction(PERSISTENCE) ** before) for before in range(100)]
