"""Agreement of two rankings of a query, and reproducibility of results, in the measures of the field.

Rank-biased overlap is that of Webber, Moffat and Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4). The
other measures are those of Breuer et al. 2020, How to Measure the Reproducibility of System-oriented IR Experiments, SIGIR,
https://doi.org/10.1145/3397271.3401036, with the values of their package repro_eval, which a test compares.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean

import numpy as np
from scipy.stats import kendalltau, ttest_rel

from beirflow.evaluation.paired_tests import equivalence

PERSISTENCE = 0.9  # p of the rank-biased overlap: of what a reader looks at, 86 per cent is in the first 10
DEPTH = 250  # ranks that are looked at; those after them weigh less than 1e-11 together

OF_BREUER_ET_AL = (0.95, 1000)  # their p, and number of ranks

LEAST_SPREAD = 1e-12  # differences that are less far apart differ by rounding alone
Scores = Mapping[str, float]  # the values of a measure by query


def _overlaps(one: Sequence[str], other: Sequence[str], depth: int) -> list[int]:
    """Return the number of ids that the first d ranks of both have, for d from 0 to some depth."""
    ranks = {doc_id: rank for rank, doc_id in enumerate(other, 1)}
    # Both have an id from the later of its two ranks on.
    later = Counter(max(rank, ranks[doc_id]) for rank, doc_id in enumerate(one, 1) if doc_id in ranks)
    return list(accumulate((later[d] for d in range(1, depth + 1)), initial=0))


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    """Return the rank-biased overlap, extrapolated, of rankings of ids that may be of different lengths.

    It is RBO_ext, equation 32; ``p`` is the chance that a reader continues to the next rank. 1 for equal rankings, 0 for rankings
    without a common id; 1 for two that are empty, 0 where one is.
    """
    shorter, longer = sorted((one[:DEPTH], other[:DEPTH]), key=len)
    s, l = len(shorter), len(longer)  # noqa: E741 -- the names of the paper
    if not s:
        return float(not l)
    overlap = _overlaps(shorter, longer, l)
    at_s, at_l = overlap[s], overlap[l]
    total = sum(overlap[d] / d * p**d for d in range(1, l + 1))
    total += sum(at_s * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * total + ((at_l - at_s) / l + at_s / s) * p**l


def kendall_tau(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Return Kendall's tau of the order of the ids that both rankings have; None for fewer than two common ids."""
    places = {doc_id: place for place, doc_id in enumerate(other)}
    common = [places[doc_id] for doc_id in one if doc_id in places]
    return float(kendalltau(range(len(common)), common).statistic) if len(common) > 1 else None


def overlap_at(one: Sequence[str], other: Sequence[str], k: int = 10) -> float:
    """Return the share of the first k, or of the longer ranking, that two rankings have in common; 1 for two that are empty."""
    most = min(k, max(len(one), len(other)))
    return len(set(one[:k]) & set(other[:k])) / most if most else 1.0


def kendall_tau_union(original: Sequence[str], reproduced: Sequence[str]) -> float | None:
    """Return Kendall's tau union: of the places that the documents of the two rankings have in the list of all of them.

    None where it is not defined, for rankings of different lengths or of fewer than two documents.
    """
    _, ranks = OF_BREUER_ET_AL
    one, other = original[:ranks], reproduced[:ranks]
    if len(one) != len(other) or len(one) < 2:
        return None
    places = {doc_id: place for place, doc_id in enumerate(sorted({*one, *other}))}
    return float(kendalltau([places[doc_id] for doc_id in one], [places[doc_id] for doc_id in other]).statistic)


def rank_biased_overlap_to_depth(original: Sequence[str], reproduced: Sequence[str]) -> float:
    """Return the rank-biased overlap of the first ranks, divided by what equal rankings of that depth have.

    A ranking that ends early agrees in nothing more from there on.
    """
    persistence, ranks = OF_BREUER_ET_AL
    score, whole, weight = 0.0, 0.0, 1.0
    for depth, overlap in enumerate(_overlaps(original, reproduced, ranks)[1:], 1):
        score += weight * overlap / depth
        whole += weight
        weight *= persistence
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
