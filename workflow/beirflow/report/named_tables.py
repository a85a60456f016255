"""Result tables in CSV, which has no types: names in them are read as text."""

import pandas as pd

NAMES = (
    *("system", "dataset", "system_a", "system_b", "setting", "value", "model_says"),
    *("dataset_a", "dataset_b", "datasets", "of", "baseline", "best_printed", "best_here", "numbers", "note"),
)
"""Columns that hold names and other texts."""


def read_named_csv(path: str) -> pd.DataFrame:
    """Read a CSV of the results: a name stays what it is, also one like ``NA`` or ``007``, and only an empty cell is missing."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(NAMES, str))
