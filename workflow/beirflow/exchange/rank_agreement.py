"""Agreement of two rankings of the same query."""

from collections.abc import Sequence

from scipy.stats import kendalltau

PERSISTENCE = 0.9  # p of the rank-biased overlap: of what a reader looks at, 86 per cent is in the first 10

DEPTH = 250  # ranks that are looked at; those after them weigh less than 1e-11 together


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    """Return the rank-biased overlap, extrapolated, of rankings of ids that may be of different lengths.

    RBO_ext, equation 32 of Webber, Moffat and Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4); ``p`` is
    the chance that a reader continues to the next rank. 1 for equal rankings, 0 for rankings without a common id; 1 for two that
    are empty, 0 where one is.
    """
    shorter, longer = sorted((one[:DEPTH], other[:DEPTH]), key=len)
    s, l = len(shorter), len(longer)  # noqa: E741 -- the names of the paper
    if not s:
        return float(not l)
    overlap, total, seen = [0], 0.0, (set[str](), set[str]())
    for d in range(1, l + 1):
        new = {longer[d - 1]} | ({shorter[d - 1]} if d <= s else set())
        seen[0].add(longer[d - 1])
        if d <= s:
            seen[1].add(shorter[d - 1])
        overlap.append(overlap[-1] + sum(doc_id in seen[0] and doc_id in seen[1] for doc_id in new))
        total += overlap[d] / d * p**d
    at_s, at_l = overlap[s], overlap[l]
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
