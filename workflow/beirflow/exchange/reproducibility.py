"""Reproducibility of results, in the measures of the field.

Breuer et al. 2020, How to Measure the Reproducibility of System-oriented IR Experiments, SIGIR, https://doi.org/10.1145/3397271.3401036.
The values are those of their package repro_eval, which a test compares.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from scipy.stats import kendalltau, ttest_rel

from beirflow.evaluation.paired_tests import equivalence

DEPTH = 1000  # ranks that are looked at

PERSISTENCE = 0.95  # p of the rank-biased overlap there

LEAST_SPREAD = 1e-12  # differences that are less far apart differ by rounding alone

Scores = Mapping[str, float]  # the values of a measure by query


def kendall_tau_union(original: Sequence[str], reproduced: Sequence[str]) -> float | None:
    """Return Kendall's tau union: of the places that the documents of the two rankings have in the list of all of them.

    None where it is not defined, for rankings of different lengths or of fewer than two documents.
    """
    one, other = original[:DEPTH], reproduced[:DEPTH]
    if len(one) != len(other) or len(one) < 2:
        return None
    places = {doc_id: place for place, doc_id in enumerate(sorted({*one, *other}))}
    return float(kendalltau([places[doc_id] for doc_id in one], [places[doc_id] for doc_id in other]).statistic)


def rank_biased_overlap_to_depth(original: Sequence[str], reproduced: Sequence[str]) -> float:
    """Return the rank-biased overlap of the first ranks, divided by what equal rankings of that depth have.

    A ranking that ends early agrees in nothing more from there on.
    """
    seen_here: set[str] = set()
    seen_there: set[str] = set()
    overlap, score, whole, weight = 0, 0.0, 0.0, 1.0
    for depth in range(1, DEPTH + 1):
        here, there = (ids[depth - 1] if depth <= len(ids) else None for ids in (reproduced, original))
        if here is not None:
            seen_here.add(here)
            overlap += here in seen_there
        if there is not None:
            overlap += there in seen_here
            seen_there.add(there)
        score += weight * overlap / depth
        whole += weight
        weight *= PERSISTENCE
    return score / whole


def root_mean_square_error(original: Scores, reproduced: Scores) -> float:
    """Return the root of the mean square of the differences of a measure, over the queries that both must have."""
    return math.sqrt(fmean((original[query] - reproduced[query]) ** 2 for query in original))


def paired_p_value(original: Scores, reproduced: Scores) -> float | None:
    """Return p of a paired, two-sided t-test over queries: 1 for equal values, None if undefined, as for a single query."""
    one, other = (np.array([scores[query] for query in original]) for scores in (original, reproduced))
    differences = one - other
    if not differences.any():
        return 1.0
    if len(differences) < 2 or np.ptp(differences) < LEAST_SPREAD:
        return None
    return float(ttest_rel(one, other).pvalue)


def reproduced(original: Scores, reproduced: Scores) -> dict[str, float | bool | None]:
    """Test whether the mean of a measure is the same but for a margin, with its 90 % interval; None for a single query."""
    differences = np.array([reproduced[query] - original[query] for query in original])
    test = equivalence([differences])
    known = test.equivalent is not None
    return {
        "margin": test.margin,
        "low": test.low if known else None,
        "high": test.high if known else None,
        "reproduced": test.equivalent,
    }


def effect_ratio(original: tuple[Scores, Scores], reproduced: tuple[Scores, Scores]) -> float | None:
    """Return the reproduced share of the mean improvement of (baseline, advanced); None if there was none originally."""
    before = _mean(original[1]) - _mean(original[0])
    return (_mean(reproduced[1]) - _mean(reproduced[0])) / before if before else None


def delta_relative_improvement(original: tuple[Scores, Scores], reproduced: tuple[Scores, Scores]) -> float | None:
    """Return the relative improvement of (baseline, advanced) less the reproduced one; None where a baseline scores 0."""
    relative = []
    for baseline, advanced in (original, reproduced):
        if not _mean(baseline):
            return None
        relative.append((_mean(advanced) - _mean(baseline)) / _mean(baseline))
    return relative[0] - relative[1]


def _mean(scores: Scores) -> float:
    return fmean(scores.values())
