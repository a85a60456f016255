"""Tests of the choice of the main measure."""

import pytest
from beirflow.evaluation.main_measure import cutoff_of, main_measure


@pytest.mark.parametrize(("cutoffs", "cutoff"), [([1, 10, 100], 10), ([1, 20], 1), ([5, 15], 5), ([100], 100), ([8, 11], 11)])
def test_the_main_measure_is_ndcg_at_10_or_at_the_nearest_cutoff(cutoffs: list[int], cutoff: int) -> None:
    assert main_measure({"cutoffs": cutoffs}) == f"NDCG@{cutoff}"
    assert cutoff_of(main_measure({"cutoffs": cutoffs, "main_measure": None})) == cutoff


def test_a_configured_measure_is_the_main_one() -> None:
    assert main_measure({"cutoffs": [10, 100], "main_measure": "Recall@100"}) == "Recall@100"
