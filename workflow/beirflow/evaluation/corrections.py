"""Corrections of p values for the number of tests."""

import numpy as np
import pandas as pd


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p values for their number by Holm's step-down method; float64 of shape (n,), in the same order, at most 1."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))) if len(p) else []
    return corrected


def against(comparison: pd.DataFrame, measure: str, baseline: str) -> pd.DataFrame:
    """Select the rows of ``significance.csv`` with a baseline on a measure; ``p_holm`` corrects for these alone."""
    with_baseline = (comparison["system_a"] == baseline) | (comparison["system_b"] == baseline)
    table = comparison[(comparison["measure"] == measure) & with_baseline]
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))
