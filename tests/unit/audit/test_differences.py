"""Tables are compared value by value; of numbers in double the last bits depend on the processor."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.audit.differences import Difference, difference
from beirflow.core.records import write_json

HERE: dict[str, Any] = {"id": ["a", "b", "c"], "double": [0.128, float("nan"), None], "single": np.float32([0.1, 2, 3])}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, ""),
        ({"double": [np.nextafter(0.128, 0), float("nan"), None]}, ""),
        ({"double": [0.128 * (1 + 1e-12), float("nan"), None]}, "other values"),
        ({"double": [0.128, 0.0, None]}, "other values"),
        ({"double": [0.128, float("nan"), float("nan")]}, "other values"),
        ({"single": np.nextafter(HERE["single"], np.float32(0))}, "other values"),
        ({"id": ["a", "b", "d"]}, "other values"),
        ({"single": np.float64([0.1, 2, 3])}, "other values"),
        ({"id": ["a", "b"], "double": [0.128, 0.0], "single": np.float32([0.1, 2])}, "other values"),
    ],
)
def test_only_last_bits_of_doubles_may_differ(changed: dict[str, Any], problem: str, tmp_path: Path) -> None:
    here, made = tmp_path / "here.parquet", tmp_path / "made.parquet"
    pq.write_table(pa.table(HERE | changed), here)
    pq.write_table(pa.table(HERE), made, compression="none")
    assert difference("scores.parquet", here, made) == Difference(problem)


@pytest.mark.parametrize(
    ("measures", "same"),
    [
        ({"RBP@10": np.nextafter(0.128, 0), "P@1": 1.0}, True),
        ({"RBP@10": 0.128 * (1 + 1e-12), "P@1": 1.0}, False),
        ({"RBP@10": 0.128}, False),
        ({"RBP@10": 0.128, "P@1": 1.0, "more": 1.0}, False),
        ({"RBP@10": 0.128, "P@1": None}, False),
    ],
)
def test_means_of_records_may_differ_in_last_bits_too(measures: dict[str, float], same: bool, tmp_path: Path) -> None:
    here, made = tmp_path / "here.json", tmp_path / "made.json"
    write_json(here, {"inputs": {}, "measures": measures})
    write_json(made, {"inputs": {}, "measures": {"RBP@10": 0.128, "P@1": 1.0}})
    assert bool(difference("scores.json", here, made).problem) is not same
