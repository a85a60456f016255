"""Corrections of p values for the number of tests."""

import numpy as np
import pandas as pd


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p values for their number: Holm's step-down method.

    Args:
        p: float64 of shape (n,).

    Returns:
        float64 of shape (n,), in the same order, at most 1.
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))) if len(p) else []
    return corrected


def against(comparison: pd.DataFrame, measure: str, baseline: str) -> pd.DataFrame:
    """Select the comparisons with a baseline on a measure, corrected as the family that they are.

    Args:
        comparison: ``significance.csv``.
        measure: Name of a measure.
        baseline: System that the others are compared with.

    Returns:
        Its rows for the measure and the baseline; ``p_holm`` corrects for these alone.
    """
    with_baseline = (comparison["system_a"] == baseline) | (comparison["system_b"] == baseline)
    table = comparison[(comparison["measure"] == measure) & with_baseline]
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))
