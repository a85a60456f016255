"""A fused run that is right passes, and any other does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.families.fusion.family import FAMILY
from beirflow.families.fusion.run_check import follows
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.spot_checks.spot_check import Finding
from beirflow.families.system import System
from fused_runs import fuse_systems
from run_results import RunResults, change_rows, ids

VARIANTS: list[dict[str, Any]] = [
    {},
    {"k": 1, "depth": 3},
    {"method": "sum", "weights": [0.3, 0.7]},
    {"method": "sum", "normalize": "min-max"},
    {"method": "sum", "normalize": "z-score", "depth": 4},
]


def made(folder: Path, **settings: Any) -> tuple[RunResults, FusionSettings]:
    results = RunResults(folder, dict.fromkeys(ids(20), "text"), dict.fromkeys(ids(6, "q"), "?"))
    random = np.random.default_rng(5)
    for system in "ab":
        scores = {
            f"q{i}": {f"d{row}": float(np.float32(random.random() * 9)) for row in random.permutation(20)[: 2 * i]}
            for i in range(6)
        }
        scores["q3"] = dict.fromkeys(scores["q3"], 2.5)
        results.write_run(system, {query: found for query, found in scores.items() if found})
    fusion = FusionSettings("f", ["a", "b"], **settings)
    fuse_systems(results.results, fusion, 7)
    return results, fusion


def check(results: RunResults, settings: FusionSettings, sample: int = 100) -> Finding:
    (only,) = follows(results.subject(System("f", FAMILY.name, settings), 7), sample, np.random.default_rng(1))
    assert only.path == "runs/f/small.parquet"
    return only.run()


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_a_fused_run_passes(tmp_path: Path, settings: dict[str, Any]) -> None:
    finding = check(*made(tmp_path, **settings))
    assert finding.passed, finding
    assert "6 queries" in finding.found


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1],
        lambda rows: [{**rows[0], "score": rows[0]["score"] * 1.001}, *rows[1:]],
        lambda rows: [{**row, "doc_id": "d19x"} if i == 4 else row for i, row in enumerate(rows)],
        lambda rows: [{**row, "score": float(np.nextafter(np.float32(row["score"]), np.float32(np.inf)))} for row in rows],
    ],
    ids=["a row less", "another score", "another document", "scores one step higher"],
)
def test_another_run_does_not(tmp_path: Path, settings: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> None:
    results, fusion = made(tmp_path, **settings)
    change_rows(results.paths("f")["run_path"], change)
    finding = check(results, fusion)
    assert not finding.passed
    assert finding.expected == "the runs of a, b, fused"


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_a_fused_run_of_scores_that_hardly_differ_passes(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Of a z-score of these, float64 has few digits."""
    results, fusion = made(tmp_path, **settings)
    random = np.random.default_rng(8)
    for system in "ab":
        close = 2**24 - random.integers(1, 4, (6, 20))
        results.write_run(system, {f"q{i}": {f"d{row}": float(close[i, row]) for row in range(20)} for i in range(6)})
    fuse_systems(results.results, fusion, 7)
    finding = check(results, fusion)
    assert finding.passed, finding


def test_a_run_of_other_settings_does_not_pass(tmp_path: Path) -> None:
    results, _ = made(tmp_path)
    assert not check(results, FusionSettings("f", ["a", "b"], k=59)).passed
