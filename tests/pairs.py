"""Cases of a parametrised test in which any two values of different parameters meet, but not every combination of all."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairs(*values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return cases, one value of each parameter, that together hold every pair of values; always the same ones."""
    cases = list(product(*map(range, map(len, values))))
    missing = {pair for case in cases for pair in combinations(enumerate(case), 2)}
    chosen = []
    while missing:
        chosen.append(max(cases, key=lambda case: len(missing.intersection(combinations(enumerate(case), 2)))))
        missing -= set(combinations(enumerate(chosen[-1]), 2))
    return [tuple(of[place] for of, place in zip(values, case, strict=True)) for case in chosen]
