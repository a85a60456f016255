"""Corrections for the number of tests."""

import numpy as np
import pytest
from beirflow.evaluation.corrections import holm


def test_holm_multiplies_by_the_number_of_what_is_left_and_never_descends() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.5])) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []
