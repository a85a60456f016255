"""Contributions of a run are those of the definitions."""

import numpy as np
import pytest

from beirflow.families.fusion.blocks import contributions
from beirflow.families.fusion.settings import FusionSettings

QUERY = np.array([0, 0, 0, 1, 2, 2])
SCORE = np.array([5, 3, 2, 7, 4, 4], np.float32)
RANK = np.array([1, 2, 3, 1, 1, 2], np.int32)


def of(**settings: object) -> list[float]:
    found = contributions(FusionSettings("f", ["a", "b"], **settings), QUERY, SCORE, RANK)  # type: ignore[arg-type]
    assert found.dtype == np.float64
    return found.tolist()


def test_min_max_is_within_each_query_and_1_where_all_scores_are_equal() -> None:
    assert of(method="sum", normalize="min-max") == [1, 1 / 3, 0, 1, 1, 1]


def test_z_scores_have_the_deviation_of_the_documents_that_are_there_and_are_0_where_all_scores_are_equal() -> None:
    deviation = np.std([5, 3, 2])
    expected = [(score - 10 / 3) / deviation for score in (5, 3, 2)]
    assert of(method="sum", normalize="z-score") == pytest.approx([*expected, 0, 0, 0], rel=1e-14)


@pytest.mark.parametrize("normalize", ["min-max", "z-score"])
def test_scores_that_differ_in_the_last_bit_are_not_equal(normalize: str) -> None:
    close = np.array([1 + 2**-23, 1], np.float32)
    settings = FusionSettings("f", ["a"], "sum", normalize=normalize)  # type: ignore[arg-type]
    first, second = contributions(settings, np.zeros(2, np.int64), close, np.array([1, 2]))
    assert first - second == pytest.approx(1 if normalize == "min-max" else 2)
