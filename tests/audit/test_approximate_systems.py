"""Audits of approximate systems: honest results pass, and forged scores, counts and records are noticed."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from approximate_results import HNSW, IVF_PQ
from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core import layout
from forger import Forger, named
from results_maker import Made, make_results, run_rules, with_systems
from tiny_bert import save_tiny_bert
from workflow_runs import config_of, tiny_system

pytest.importorskip("faiss")

ALL = 1000
SIGNS = {"approximate": "second", "index": "binary", "rescore": 4}


@pytest.fixture(scope="module")
def original_approximate(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    config = with_systems(results_once.config, {"graph": HNSW, "codes": {**IVF_PQ, "nlist": 1, "nprobe": 1}, "signs": SIGNS})
    config = {**config, "systems": ["second", "graph", "codes", "signs"]}
    forger = Forger.of(Made(results_once.results, config), tmp_path_factory.mktemp("approximate"))
    for path in [*forger.results.glob("*/tiny"), *forger.results.glob("*/tiny.*")]:
        remove(path)
    run_rules(forger.results, load_experiment(config), [layout.SUMMARY])
    return Made(forger.results, config)


def remove(path: Path) -> None:
    """Remove a file, or a folder and what is in it."""
    for each in [*sorted(path.rglob("*"), reverse=True), path]:
        each.rmdir() if each.is_dir() else each.unlink()


@pytest.fixture
def approximate(original_approximate: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_approximate, tmp_path)


def test_nothing_is_noticed_where_nobody_touched_them(approximate: Forger) -> None:
    assert approximate.noticed(ALL) == []
    assert Forger(approximate.results).noticed(ALL) == []


def test_a_search_that_finds_nothing_but_the_query_itself_passes(tmp_path: Path) -> None:
    write_beir(tmp_path / "own", {"q1": "w1 w2", "d1": "w9"}, {"q1": "w1 w2"}, {"q1": {"d1": 1}})
    dense = tiny_system(save_tiny_bert(tmp_path / "model"), similarity="cosine")
    graph = {"approximate": "dense", "index": "hnsw", "m": 2, "ef_construction": 4, "ef_search": 1}
    made = make_results(tmp_path / "results", config_of({"dense": dense, "graph": graph}, tmp_path / "own"))
    assert pq.read_metadata(made.results / "runs/graph/small.parquet").num_rows == 0
    assert Forger(made.results, load_experiment(made.config)).noticed(ALL) == []


def test_scores_of_an_index_that_are_not_the_products_are_noticed(approximate: Forger) -> None:
    def lifted(run: Any) -> Any:
        run.loc[0, "score"] += 0.01
        return run

    runs = {system: layout.RUN(system=system, dataset="small") for system in ("graph-ef-12", "signs")}
    for system, run in runs.items():
        approximate.edit_table(run, lifted)
        approximate.evaluate_again(system, "small")
    failed = approximate.failed(ALL)
    assert [run for run in runs.values() if not any("has the score" in check.found for check in named(failed, run))] == []
