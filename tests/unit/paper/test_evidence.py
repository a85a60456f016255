"""Counts and averages over the datasets that systems share."""

import math

import pytest
from beirflow.paper.evidence import Scores

SCORES = Scores({("a", "x"): 0.5, ("a", "y"): 0.4, ("a", "in"): 0.1, ("b", "x"): 0.5, ("b", "in"): 0.9}, in_domain=["in"])


def test_what_is_shared_leaves_the_training_data_out() -> None:
    assert SCORES.common("a") == ["x", "y"]
    assert SCORES.common("a", "b") == ["x"]
    assert SCORES.common("a", "nobody") == []
    # Equal scores are not higher.
    assert SCORES.above("a", "b") == []
    assert SCORES.above("b", "a", ["in"]) == ["in"]


def test_a_difference_is_a_share_of_the_mean_of_the_baseline() -> None:
    assert SCORES.difference("b", "a", ["in"]) == pytest.approx(0.9 / 0.1 - 1)
    assert math.isnan(SCORES.difference("b", "a", []))


def test_systems_are_seen_under_the_names_that_they_stand_for() -> None:
    assert SCORES.named({"BM25": "b", "none": "c"}).values == {("BM25", "x"): 0.5, ("BM25", "in"): 0.9}
