"""Agreement of two rankings, against its definition."""

import random
from itertools import combinations

import pytest
from beirflow.exchange.rank_agreement import kendall_tau, overlap_at, rank_biased_overlap


def extrapolated(one: str, other: str, p: float, depth: int = 2000) -> float:
    """The infinite sum; ranks that are not there agree as much as those that are (Webber et al. 2010, section 4.3)."""
    shorter, longer = sorted((one, other), key=len)
    s, length = len(shorter), len(longer)
    overlaps = [0.0]
    for d in range(1, depth + 1):
        if d <= length:
            common = len(set(longer[:d]) & set(shorter[:d]))
            at_s = len(set(longer[:s]) & set(shorter))
            overlaps.append(common + at_s * (d - s) / s if d > s else common)
        else:
            overlaps.append(overlaps[length] / length * d)
    return (1 - p) * sum(overlaps[d] / d * p ** (d - 1) for d in range(1, depth + 1))


@pytest.mark.parametrize("p", [0.5, 0.9])
@pytest.mark.parametrize(("one", "other"), [("abcde", "bacde"), ("abc", "xbycz"), ("a", "bca"), ("abcdefgh", "hgfedcba")])
def test_rank_biased_overlap_is_its_infinite_sum(one: str, other: str, p: float) -> None:
    assert rank_biased_overlap(one, other, p) == pytest.approx(extrapolated(one, other, p), abs=1e-9)
    assert rank_biased_overlap(one, other, p) == pytest.approx(rank_biased_overlap(other, one, p), abs=1e-12)


@pytest.mark.parametrize(("one", "other", "value"), [("abc", "abc", 1), ("abc", "xyz", 0), ("", "", 1), ("", "a", 0)])
def test_rank_biased_overlap_at_its_ends(one: str, other: str, value: float) -> None:
    assert rank_biased_overlap(one, other) == pytest.approx(value, abs=1e-12)


def test_a_change_at_the_top_weighs_more_than_one_below() -> None:
    ids = [str(i) for i in range(1000)]
    top, bottom = [ids[1], ids[0], *ids[2:]], [*ids[:-2], ids[-1], ids[-2]]
    assert rank_biased_overlap(ids, top) < rank_biased_overlap(ids, bottom) == pytest.approx(1, abs=1e-9)


def test_tau_counts_the_pairs_of_common_documents() -> None:
    one, other = [str(i) for i in range(20)], [str(i) for i in range(10, 30)]
    random.Random(1).shuffle(other)
    common = [doc_id for doc_id in one if doc_id in other]
    signs = [1 if other.index(first) < other.index(second) else -1 for first, second in combinations(common, 2)]
    assert kendall_tau(one, other) == pytest.approx(sum(signs) / len(signs), abs=1e-12)
    assert kendall_tau("ab", "xa") is None


def test_overlap_is_the_share_of_the_first_ten() -> None:
    assert overlap_at("abcdefghijk", "jihgfedcbax") == 1
    assert overlap_at("abcdefghijk", "kbcdefghijx") == 0.9
    assert overlap_at("ab", "bc") == 0.5
    assert overlap_at("", "") == 1
