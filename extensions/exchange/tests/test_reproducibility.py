"""Agreement of two rankings is as it is defined; the measures of Breuer et al. have the values of their package, repro_eval."""

import random
import warnings
from itertools import combinations
from typing import Any

import pytest

from beirflow.extensions.exchange.reproducibility import (
    Scores,
    delta_relative_improvement,
    effect_ratio,
    kendall_tau,
    kendall_tau_union,
    overlap_at,
    paired_p_value,
    rank_biased_overlap,
    rank_biased_overlap_to_depth,
    root_mean_square_error,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports names of scipy that are no longer where they were
    from repro_eval import RBO_DEPTH, RBO_P
    from repro_eval.measure import document_order, effectiveness, overall_effects, statistics

MEASURE = "ndcg"
RBO: dict[str, Any] = {"p": RBO_P, "depth": RBO_DEPTH, "pbar": False, "per_topic": True}


def scores_of(seed: int, queries: int = 30) -> Scores:
    rng = random.Random(seed)
    return {f"q{i}": rng.random() for i in range(queries)}


def theirs(scores: Scores) -> dict[str, dict[str, float]]:
    return {query: {MEASURE: value} for query, value in scores.items()}


def as_run(ranking: list[str]) -> dict[str, dict[str, float]]:
    return {"q": {doc_id: float(len(ranking) - rank) for rank, doc_id in enumerate(ranking)}}


@pytest.mark.parametrize("length", [2, 10, 300, 1500])
@pytest.mark.parametrize("shared", [1.0, 0.5, 0.0])
def test_orders_of_documents_agree_as_much_as_there(length: int, shared: float) -> None:
    rng = random.Random(length)
    original = [f"d{i}" for i in range(length)]
    reproduced = [doc_id if rng.random() < shared else f"other-{doc_id}" for doc_id in original]
    for start in range(0, length, 7):
        reproduced[start : start + 7] = rng.sample(reproduced[start : start + 7], len(reproduced[start : start + 7]))
    one, other = as_run(original), as_run(reproduced)
    assert kendall_tau_union(original, reproduced) == pytest.approx(document_order.KTU(one, other), abs=1e-12)
    found = document_order.RBO(as_run(original), as_run(reproduced), **RBO)["q"]
    assert rank_biased_overlap_to_depth(original, reproduced) == pytest.approx(found, abs=1e-12)


def test_rankings_that_end_early_agree_as_much_as_there() -> None:
    original, reproduced = [f"d{i}" for i in range(40)], [f"d{i}" for i in range(5, 20)]
    found = document_order.RBO(as_run(original), as_run(reproduced), **RBO)["q"]
    assert rank_biased_overlap_to_depth(original, reproduced) == pytest.approx(found, abs=1e-12)
    assert kendall_tau_union(original, reproduced) is None
    assert kendall_tau_union(["a"], ["a"]) is None


def test_scores_differ_as_much_as_there() -> None:
    one, other = scores_of(1), scores_of(2)
    assert root_mean_square_error(one, other) == pytest.approx(effectiveness.RMSE(theirs(one), theirs(other))[MEASURE], abs=1e-12)
    assert paired_p_value(one, other) == pytest.approx(statistics.ttest(theirs(one), theirs(other))[MEASURE], abs=1e-12)
    assert paired_p_value(one, one) == statistics.ttest(theirs(one), theirs(one))[MEASURE] == 1


def test_effects_are_found_again_as_much_as_there() -> None:
    baseline, advanced, again_baseline, again_advanced = map(scores_of, range(4))
    their = [theirs(scores) for scores in (advanced, baseline, again_advanced, again_baseline)]
    original, reproduced = (baseline, advanced), (again_baseline, again_advanced)
    assert effect_ratio(original, reproduced) == pytest.approx(overall_effects.ER(*their)[MEASURE], abs=1e-12)
    assert delta_relative_improvement(original, reproduced) == pytest.approx(overall_effects.DRI(*their)[MEASURE], abs=1e-12)
    assert effect_ratio(original, original) == pytest.approx(1)
    assert delta_relative_improvement(original, original) == 0


def test_what_is_not_defined_has_no_value() -> None:
    one, none = {"q": 0.5}, {"q": 0.0}
    assert paired_p_value(one, none) is None
    assert paired_p_value({"q": 0.5, "r": 0.7}, {"q": 0.2, "r": 0.4}) is None
    assert effect_ratio((one, one), (none, one)) is None
    assert delta_relative_improvement((none, one), (one, one)) is None


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
