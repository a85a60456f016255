"""Fused runs are what ranx says, ties included, however the queries are divided."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.records import read_json
from beirflow.families.fusion import blocks as module
from beirflow.families.fusion.blocks import fused
from beirflow.families.fusion.settings import FusionSettings
from beirflow.ranking.run_file import RUN
from fused_runs import fuse_systems
from run_results import RunResults, Scores, ids, ranked

GOLDEN = json.loads((Path(__file__).parents[3] / "data/fusion_golden.json").read_text(encoding="utf-8"))
"""Scores by ranx 0.3 for three runs in which all scores differ."""


def table(scores: Scores) -> pa.Table:
    columns = [list(column) for column in zip(*ranked(scores), strict=True)] or [[], [], [], []]
    return pa.table(columns, schema=RUN)


def fuse(settings: FusionSettings, runs: list[Scores], top_k: int = 1000) -> list[tuple[str, str, float, int]]:
    parts = fused(settings, [table(run) for run in runs], top_k)
    return [row for part in parts for row in zip(*(column.tolist() for column in part), strict=True)]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: " ".join(str(value) for value in list(case.values())[:-1]))
def test_scores_are_those_of_ranx(case: dict[str, Any]) -> None:
    expected = case["scores"]
    settings = FusionSettings("f", **{key: value for key, value in case.items() if key != "scores"})
    rows = fuse(settings, [GOLDEN["runs"][name] for name in case["of"]])
    assert len(rows) == sum(map(len, expected.values()))
    for query, doc_id, score, _ in rows:
        assert score == pytest.approx(expected[query][doc_id], rel=2e-6, abs=1e-6), (query, doc_id)
    found = {query: {doc_id: score for name, doc_id, score, _ in rows if name == query} for query in expected}
    assert [(query, doc_id, rank) for query, doc_id, _, rank in rows] == [(q, d, rank) for q, d, _, rank in ranked(found)]


def test_documents_with_the_same_ranks_in_other_runs_tie_and_are_ordered_by_their_ids() -> None:
    """1/61 + 1/62 + 1/63 in each of its six orders, whose sums from left to right differ in float64."""
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    runs: list[Scores] = [{"q": {}} for _ in range(18)]
    fillers = iter(range(1000))
    for place, order in enumerate(orders):
        for number in range(3):
            documents = [f"filler{next(fillers)}" for _ in range(3)]
            documents[order[number]] = f"d{place}"
            runs[3 * place + number] = {"q": {doc_id: 3.0 - rank for rank, doc_id in enumerate(documents)}}
    rows = fuse(FusionSettings("f", ids(18, "s")), runs)[:6]
    assert [doc_id for _, doc_id, _, _ in rows] == ["d5", "d4", "d3", "d2", "d1", "d0"]
    assert len({score for _, _, score, _ in rows}) == 1


@pytest.mark.parametrize("depth", [1, 2, 5, None])
@pytest.mark.parametrize("method", ["rrf", "sum"])
def test_only_documents_up_to_the_depth_are_fused_and_normalised(depth: int | None, method: str) -> None:
    runs = GOLDEN["runs"]["a"], GOLDEN["runs"]["b"]
    cut = [{query: {d: s for q, d, s, rank in ranked(run, k=depth) if q == query} for query in run} for run in runs]
    normalize: Any = "min-max" if method == "sum" else None
    with_depth = FusionSettings("f", ["a", "b"], method, normalize=normalize, depth=depth)  # type: ignore[arg-type]
    without = FusionSettings("f", ["a", "b"], method, normalize=normalize)  # type: ignore[arg-type]
    assert fuse(with_depth, list(runs)) == fuse(without, cut)


@given(
    runs=st.lists(
        st.dictionaries(st.sampled_from(ids(5, "q")), st.dictionaries(st.sampled_from(ids(8)), st.integers(-3, 3).map(float))),
        min_size=2,
        max_size=3,
    ),
    top_k=st.integers(1, 9),
    size=st.integers(1, 6),
)
def test_blocks_of_queries_change_nothing_and_every_score_is_the_sum(runs: list[Scores], top_k: int, size: int) -> None:
    settings = FusionSettings("f", ids(len(runs), "s"))
    whole, before = fuse(settings, runs, top_k), module.QUERIES
    module.QUERIES = size
    try:
        assert fuse(settings, runs, top_k) == whole
    finally:
        module.QUERIES = before
    sums: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        for query, doc_id, _, rank in ranked(run):
            sums.setdefault(query, {}).setdefault(doc_id, []).append(1 / (60 + rank))
    exact = {q: {d: float(np.float32(sum(sorted(each)))) for d, each in found.items()} for q, found in sums.items()}
    assert whole == ranked(exact, k=top_k)


FUSED = FusionSettings("f", ["a", "b"])
RUNS: dict[str, Scores] = {"a": {"q0": {"d1": 2.0, "d2": 1.0}}, "b": {"q0": {"d3": 5.0}, "q1": {"d1": 4.0}}}


@pytest.fixture
def made(tmp_path: Path) -> RunResults:
    results = RunResults(tmp_path, dict.fromkeys(ids(5), "text"), {"q0": "?", "q1": "?"})
    results.write_run("a", RUNS["a"])
    results.write_run("b", RUNS["b"], seconds={"search": 2.0, "load": 8.0}, jobs=["deeper"])
    return results


def test_a_first_stage_that_is_needed_twice_counts_once(made: RunResults) -> None:
    fuse_systems(made.results, FUSED)
    fuse_systems(made.results, FusionSettings("g", ["a", "f"]))
    first, second = (read_json(made.paths(name)["record_path"]) for name in "fg")
    assert second["seconds"]["search"] == 3.0
    assert second["bytes"] == {"index": 10}
    assert second["seconds"]["fuse"] == first["seconds"]["fuse"] + second["parts"]["g"]["seconds"]["fuse"]
