"""Audits of approximate systems: honest results pass, and forged scores, counts and records are noticed."""

from pathlib import Path
from typing import Any

import pytest
from approximate_results import HNSW, IVF_PQ, make_approximate, with_systems
from beirflow.experiment.load import load_experiment
from forger import Forger, named
from results_maker import Made, average, evaluate, write_summary
from test_any_fact import every_fact, kind_of, missed

pytest.importorskip("faiss")

ALL = 1000
RUN, RECORD = "runs/graph-ef-12/small.parquet", "runs/graph-ef-12/small.json"


@pytest.fixture(scope="module")
def original_approximate(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    config = with_systems(results_once.config, {"graph": HNSW, "codes": {**IVF_PQ, "nlist": 1, "nprobe": 1}})
    config = {**config, "systems": ["second", "graph", "codes"]}
    forger = Forger.of(Made(results_once.results, config), tmp_path_factory.mktemp("approximate"))
    experiment = load_experiment(config)
    for name in experiment.chosen_systems[1:]:
        for dataset in experiment.chosen_datasets:
            make_approximate(forger.results, config, name, dataset)
            evaluate(forger.results, experiment, name, dataset)
        average(forger.results, experiment, name, "stack")
    for path in [*forger.results.glob("*/tiny"), *forger.results.glob("*/tiny.*")]:
        remove(path)
    write_summary(forger.results, experiment)
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
    assert Forger(approximate.results, load_experiment({})).noticed(ALL) == []
    names = {check.name for check in approximate.checks(ALL)}
    assert {"documents found by an index have their exact scores", "exact hits are those of the two runs"} <= names


def test_a_score_that_is_not_the_product_is_noticed(approximate: Forger) -> None:
    def lifted(run: Any) -> Any:
        run.loc[0, "score"] += 0.01
        return run

    approximate.edit_table(RUN, lifted)
    approximate.evaluate_again("graph-ef-12", "small")
    (check,) = named(approximate.failed(ALL), RUN)
    assert check.name == "documents found by an index have their exact scores"
    assert "has the score" in check.found


def test_counts_of_exact_hits_are_counted_again(approximate: Forger) -> None:
    approximate.edit(RECORD, counts__exact_10_found=40)
    approximate.evaluate_again("graph-ef-12", "small")
    found = [check for check in approximate.failed() if check.name == "exact hits are those of the two runs"]
    assert [check.files for check in found] == [(RECORD,)]


def test_one_fact_of_each_kind_that_is_changed_is_noticed_or_listed(original_approximate: Made, tmp_path: Path) -> None:
    facts = every_fact(Forger.of(original_approximate, tmp_path / "all"))
    own = [fact for fact in facts if fact[0].startswith(("indexes/", "runs/codes/", "metrics/codes/"))]
    kinds = {kind_of(fact): fact for fact in own}
    assert len(kinds) > 30
    assert missed(original_approximate, tmp_path, list(kinds.values())) == []
