"""Weights are those of the grid with the best NDCG@10 on other queries; what is evaluated never decides."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval

from beirflow.core.errors import DataError
from beirflow.core.layout import QRELS
from beirflow.core.records import read_json
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.fusion.tuning import grid
from fused_runs import fuse_systems
from run_results import RunResults, Scores, ids

DEV = "small.dev"
TUNED = {"tune": {"split": "dev"}}


def test_a_grid_has_every_way_to_share_one_in_steps() -> None:
    assert grid(2, 0.25).tolist() == [[0, 1], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1, 0]]
    brute = [each for each in itertools.product(range(11), repeat=3) if sum(each) == 10]
    assert (grid(3, 0.1) * 10).round(9).tolist() == [list(map(float, each)) for each in brute]
    assert 0.3 in grid(2, 0.1)


class Tuning:
    """Two systems on ten queries of a split and on one that is evaluated, which the split has too; grades from a seed."""

    def __init__(self, folder: Path, evaluated: Mapping[str, str] = {"t0": "what is q0"}) -> None:
        random = np.random.default_rng(3)
        texts = {query: f"what is {query}" for query in ids(10, "q")}
        self.qrels = {
            query: {doc: int(grade) for doc, grade in zip(ids(15), random.integers(-1, 3, 15), strict=True)} for query in texts
        }
        documents = dict.fromkeys(ids(15), "text")
        self.dev = RunResults(folder, documents, texts, dataset=DEV, qrels=self.qrels)
        self.made = RunResults(folder, documents, evaluated)
        self.scores: dict[str, Scores] = {}
        for system, noise in (("a", 1.0), ("b", 2.0), ("c", 4.0)):
            found = {
                query: {doc: float(np.float32(grade + noise * random.standard_normal())) for doc, grade in grades.items()}
                for query, grades in self.qrels.items()
            }
            self.scores[system] = found
            self.dev.write_run(system, found)
            self.made.write_run(system, dict.fromkeys(evaluated, found["q1"]))

    def fuse(self, **settings: Any) -> FusionSettings:
        fusion = FusionSettings("f", **{"of": ["a", "b"], "method": "sum", "normalize": "min-max", "weights": TUNED, **settings})
        fuse_systems(self.made.results, fusion, tuned_on=DEV if fusion.tune else None)
        return fusion

    def record(self) -> dict[str, Any]:
        return read_json(self.made.paths("f")["record_path"])

    def plain(self, weights: list[float], of: str) -> float:
        """Mean NDCG@10 of the queries that are not evaluated, in plain Python; min-max."""
        values = []
        for query in ids(10, "q")[1:]:
            sums: dict[str, float] = {}
            for weight, system in zip(weights, of, strict=True):
                scores = self.scores[system][query]
                lowest, highest = min(scores.values()), max(scores.values())
                for doc, score in scores.items():
                    sums[doc] = sums.get(doc, 0) + weight * (score - lowest) / (highest - lowest)
            found = {query: {doc: float(np.float32(each)) for doc, each in sums.items()}}
            grades = {query: {doc: max(0, grade) for doc, grade in self.qrels[query].items()}}
            values.append(pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"}).evaluate(found)[query]["ndcg_cut_10"])
        return float(np.mean(values))


@pytest.fixture
def tuning(tmp_path: Path) -> Tuning:
    return Tuning(tmp_path)


@pytest.mark.parametrize(("of", "step"), [("ab", 0.1), ("abc", 0.2)])
def test_the_best_of_the_grid_is_chosen_and_all_of_it_recorded(tuning: Tuning, of: str, step: float) -> None:
    settings = tuning.fuse(of=list(of), weights={"tune": {"split": "dev", "step": step}})
    tuned = tuning.record()["tuned"]
    assert (tuned["on"], tuned["queries"], tuned["queries_left_out"], tuned["measure"]) == (DEV, 9, 1, "NDCG@10")
    expected = {tuple(weights): tuning.plain(weights, of) for weights in grid(len(of), step).tolist()}
    assert {tuple(each["weights"]): each["score"] for each in tuned["grid"]} == pytest.approx(expected, abs=1e-12)
    best = max(expected.values())
    assert expected[tuple(tuned["chosen"])] == pytest.approx(best, abs=1e-12)
    assert best > expected[tuple([0.0] * (len(of) - 1) + [1.0])] + 0.05
    rows = tuning.made.run("f")
    assert {query for query, *_ in rows} == {"t0"}
    tuning.fuse(of=list(of), weights=tuned["chosen"])
    assert tuning.made.run("f") == rows
    assert "tuned" not in tuning.record()
    assert replace(settings, weights=None).with_weights_of({}).factors == [1.0] * len(of)


def test_of_equal_scores_the_weights_nearest_to_equal_ones_win(tuning: Tuning) -> None:
    for made in (tuning.dev, tuning.made):
        made.write_run("b", tuning.scores["a"] if made is tuning.dev else {"t0": tuning.scores["a"]["q1"]})
    tuning.fuse()
    assert tuning.record()["tuned"]["chosen"] == [0.5, 0.5]
    tuning.fuse(weights={"tune": {"split": "dev", "step": 0.2}})
    assert tuning.record()["tuned"]["chosen"] == [0.4, 0.6]


def test_queries_that_are_all_evaluated_and_runs_of_others_are_refused(tuning: Tuning, tmp_path: Path) -> None:
    everything = Tuning(tmp_path / "other", {f"t{number}": f"what is q{number}" for number in range(10)})
    with pytest.raises(DataError, match=r"f: each of the 10 queries of small\.dev is evaluated too, .* name another split"):
        everything.fuse()
    tuning.dev.write_run("b", {"q0": {"d0": 1.0}})
    with pytest.raises(DataError, match=r"f: the run of b has no documents for the queries of small\.dev"):
        tuning.fuse()
    tuning.dev.write_run("b", tuning.scores["b"])
    (tuning.made.results / QRELS(dataset=DEV)).write_bytes(b"other")
    with pytest.raises(DataError, match="sha256"):
        tuning.fuse()


def test_white_space_at_the_ends_makes_no_other_query(tmp_path: Path) -> None:
    tuning = Tuning(tmp_path, {"t0": " what is q0\t"})
    tuning.fuse()
    assert [tuning.record()["tuned"][key] for key in ("queries", "queries_left_out")] == [9, 1]
