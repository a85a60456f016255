"""Registration of measures, each a function of a ranking and a cutoff."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from beirflow.ranking.judged_ranking import Ranking

Compute = Callable[[Ranking, int], np.ndarray]
"""Function that computes a measure at one of the cutoffs of a ranking, k; float64 of shape (q,), q judged queries.

A measure of topics has one value a topic, at one query of it, and not-a-number at the others.
"""


@dataclass(frozen=True)
class Needs:
    """Property of only some judgements that a measure requires."""

    words: str  # where it is stated
    layout: str  # layout of the datasets on a hub that state it; files of the user's own can state anything
    are_met: Callable[[Ranking], bool]
    compare_queries: bool = False  # whether it takes all queries of a topic


@dataclass(frozen=True)
class Measure:
    """A measure; the name of a column has the cutoff, too, as in NDCG@10."""

    name: str
    compute: Compute
    needs: Needs | None  # None for a measure of every dataset
    ranks_systems: bool  # whether it can be the main measure
    mteb: str  # its name in MTEB; empty without one

    @property
    def meaning(self) -> str:
        """First line of its docstring."""
        line = (self.compute.__doc__ or "").partition("\n")[0].removesuffix(".")
        return f"{line} ({self.needs.words})" if self.needs else line

    def is_defined(self, ranking: Ranking) -> bool:
        """Test whether the judgements state what it needs."""
        return self.needs is None or self.needs.are_met(ranking)


REGISTERED: dict[str, Measure] = {}
"""Measures of the modules that were imported; ``all_measures.py`` has all in their order."""


def measure(name: str, *, needs: Needs | None = None, ranks_systems: bool = True, mteb: str = "") -> Callable[[Compute], Compute]:
    """Decorate a function that computes a measure, with the fields of :class:`Measure`."""

    def register(compute: Compute) -> Compute:
        """Register the function under the name."""
        REGISTERED[name] = Measure(name, compute, needs, ranks_systems, mteb)
        return compute

    return register


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 if the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)
