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
RUN, RECORD = "runs/graph-ef-12/small.parquet", "runs/graph-ef-12/small.json"


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
    names = {check.name for check in approximate.checks(ALL)}
    assert {"documents found by an index have their exact scores", "exact hits are those of the two runs"} <= names


def test_a_search_that_finds_nothing_but_the_query_itself_passes(tmp_path: Path) -> None:
    write_beir(tmp_path / "own", {"q1": "w1 w2", "d1": "w9"}, {"q1": "w1 w2"}, {"q1": {"d1": 1}})
    dense = tiny_system(save_tiny_bert(tmp_path / "model"), similarity="cosine")
    graph = {"approximate": "dense", "index": "hnsw", "m": 2, "ef_construction": 4, "ef_search": 1}
    made = make_results(tmp_path / "results", config_of({"dense": dense, "graph": graph}, tmp_path / "own"))
    assert pq.read_metadata(made.results / "runs/graph/small.parquet").num_rows == 0
    assert Forger(made.results, load_experiment(made.config)).noticed(ALL) == []


def test_scores_that_are_not_the_products_are_noticed_and_exact_hits_counted_again(approximate: Forger) -> None:
    def lifted(run: Any) -> Any:
        run.loc[0, "score"] += 0.01
        return run

    approximate.edit(RECORD, counts__exact_10_found=33)
    runs = [layout.RUN(system=system, dataset="small") for system in ("graph-ef-12", "signs")]
    for system, run in zip(("graph-ef-12", "signs"), runs, strict=True):
        approximate.edit_table(run, lifted)
        approximate.evaluate_again(system, "small")
    failed = approximate.failed(ALL)
    for run in runs:
        (check,) = named(failed, run)
        assert check.name == "documents found by an index have their exact scores"
        assert "has the score" in check.found
    found = [check for check in failed if check.name == "exact hits are those of the two runs"]
    assert RECORD in [name for check in found for name in check.files]


INDEX = "indexes/second/small/hnsw-m4-ef20-seed0.json"
FACTS = [
    (INDEX, "built__m", 5, "'m': 5"),
    (INDEX, "rows", 31, "rows 31"),
    (INDEX, "made__faiss", "9.9", "says made"),
    (INDEX, "dim", 33, "dim 33"),
    (INDEX, "seconds__build", 900.0, "says seconds"),
    (INDEX, "reproducible", False, "reproducible False"),
    (INDEX, "counts__approximate_index_bytes", 3, "says counts"),
    (INDEX, "similarity", "dot", "says similarity dot"),
    (RECORD, "counts__incomplete_queries", 1, "incomplete_queries 1"),
    (RECORD, "reproducible", False, "reproducible run False"),
]


@pytest.mark.parametrize("facts", [FACTS[:5], FACTS[5:]])
def test_facts_of_an_index_that_are_changed_are_noticed(approximate: Forger, facts: list[tuple[str, str, Any, str]]) -> None:
    for name, fact, value, _ in facts:
        approximate.edit(name, **{fact: value})
    approximate.digest_summary_again()
    noticed = [check.found for check in approximate.noticed()]
    assert [words for *_, words in facts if not any(words in found for found in noticed)] == []
