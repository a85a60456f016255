"""The table of facts has facts that records state; what they say of tuning is compared with the settings."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.chain import Chain, Claim
from beirflow.audit.checks import FAILED, PASSED
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.facts.made_from import OF_THE_MANIFEST, RECORDS
from beirflow.audit.facts.recorded import (
    OF_AVERAGES,
    OF_RERANKERS,
    OF_RUNS_OF_RUNS,
    OF_SEARCHES,
    OF_STORED,
    OF_TEXTS,
    OF_TUNED,
    TABLE,
    check_record,
)
from beirflow.audit.facts.relations import Place, compare
from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.core.kinds import REPRESENTATIONS
from beirflow.core.layout import MANIFEST, METRICS, MODEL, RUN, RUN_RECORD
from beirflow.core.patterns import Pattern

GRID = [{"weights": [share, 1 - share], "score": score} for share, score in ((0.0, 0.2), (0.5, 0.4), (1.0, 0.3))]


def corpus(row: str, split: str, part_of: str | None = None, forum: str | None = None) -> dict[str, Any]:
    return {"name": f"{row}-{forum}" if forum else row, "row": row, "split": split, "part_of": part_of, "forum": forum}


def checked(change: Callable[[dict[str, Any]], Any] = dict, **tune: str) -> list[tuple[str, str]]:
    """Status and what was found, where a fused system is tuned on a split of x."""
    settings = {"name": "f", "of": ["a", "b"], "method": "sum", "weights": {"tune": tune or {"split": "dev"}}}
    manifest = {
        "systems": {"f": {"family": "fusion", "settings": settings}, "a": {"family": "lexical", "settings": {}}},
        "datasets": {"x": [corpus("x", "test")], "y": [corpus("y", "dev")]},
        "tuned_on": {"x.dev": [corpus("x.dev", "dev", "x")], "x.sample-5": [corpus("x.sample-5", "test", "x")]},
    }
    record = {"tuned": {"on": "x.dev", "grid": GRID, "chosen": [0.5, 0.5]}}
    change(record)
    claims = {RUN(system=system, dataset="x"): [Claim("0" * 64, "manifest.json")] for system in "fa"}
    chain = Chain(Path("results"), manifest, claims, records={"runs/f/x.json": record}, audited_with=load_experiment({}))
    facts, path = Comparison(chain, "records say the same"), "runs/f/x.json"
    facts.each([path], lambda facts, path: compare(Place(facts, path, {"system": "f", "dataset": "x"}, record), OF_TUNED))
    return [(check.status, check.found) for check in facts.finished()]


def stated() -> dict[Pattern, set[str]]:
    """By kind of record, the keys that it may have."""
    found: dict[Pattern, set[str]] = {MANIFEST: {*OF_THE_MANIFEST, "inputs"}}
    for record in (*RECORDS, *(record for family in FAMILIES.values() for record in family.records)):
        found.setdefault(record.pattern, {"inputs"}).update(record.keys, record.optional)
    return found


def test_every_fact_of_the_table_is_one_that_records_state() -> None:
    """Another would be looked for in vain, and never be compared."""
    kinds = stated()
    of_stored = {key for pattern, keys in kinds.items() if pattern.startswith(REPRESENTATIONS) for key in keys}
    of_runs = (*OF_SEARCHES, *OF_RUNS_OF_RUNS, *OF_RERANKERS, *OF_TUNED)
    rows = [(kinds[pattern], row) for pattern, rows in TABLE.items() for row in rows]
    rows += [(kinds[METRICS], row) for row in OF_AVERAGES] + [(kinds[RUN_RECORD], row) for row in of_runs]
    rows += [(of_stored, row) for row in (*OF_STORED, *OF_TEXTS)]
    assert [row.key for keys, row in rows if row.key.partition("/")[0] not in keys] == []


@pytest.mark.parametrize(("part", "wrong"), [("card", []), ("encoder", ["says dimensions 32", "says similarity cosine"])])
def test_settings_may_differ_from_what_the_files_of_their_model_say(part: str, wrong: list[str]) -> None:
    settings = {
        "name": "d",
        "model": "/m",
        "revision": None,
        "similarity": "dot",
        "dimensions": 8,
        "weights": "model.safetensors",
    }
    manifest = {"systems": {"d": {"family": "dense", "settings": settings}}, "configuration": {}}
    record = {"model": "/m", "revision": None, "files": {}, part: {"similarity": "cosine", "dimensions": 32}}
    path = MODEL(system="d")
    facts = Comparison(Chain(Path("results"), manifest, records={path: record}, audited_with=load_experiment({})), "")
    facts.each([path], check_record)
    failed = sorted(check.found.removeprefix(f"{path} ") for check in facts.finished() if check.status == FAILED)
    assert failed == wrong


@pytest.mark.parametrize(
    ("weighed", "wrong"),
    [
        ({"kind": "splade", "max_length": 20, "pooling": "sum"}, []),
        ({"kind": "tokens", "max_length": 20, "pooling": "max"}, []),
        ({"kind": "splade", "max_length": 8, "pooling": "max"}, ["says max_length 8", "says pooling max"]),
    ],
)
def test_queries_of_sparse_systems_have_their_own_length_and_may_need_no_head(weighed: dict[str, Any], wrong: list[str]) -> None:
    settings = {"name": "s", "head": "splade", "max_length": 8, "query_max_length": 20, "pooling": "sum"}
    manifest = {"systems": {"s": {"family": "sparse", "settings": settings}}, "configuration": {}}
    path = "postings/s/x/queries.json"
    chain = Chain(
        Path("results"), manifest, records={path: {"system": "s", "weighed": weighed}}, audited_with=load_experiment({})
    )
    facts = Comparison(chain, "")
    facts.each([path], check_record)
    assert [said for check in facts.finished() if (said := check.found.removeprefix(f"{path} ")).startswith("says")] == wrong


def test_a_system_may_have_the_name_of_a_setting() -> None:
    """Of a reranker here, whose record has the times of ``dense`` beside its own."""
    settings = {"name": "r", "first": "dense", "depth": 5, "dense": {"name": "dense", "model": "/m"}}
    manifest = {"systems": {"r": {"family": "rerank", "settings": settings}}, "configuration": {}}
    times = {name: {"seconds": {}, "bytes": {}} for name in ("dense", "first", "depth", "r")}
    record = {"system": "r", "dataset": "x", "first_stages": ["dense"], "parts": times, "depth": 5, "seconds": {}}
    path = "runs/r/x.json"
    chain = Chain(Path("results"), manifest, records={path: record}, audited_with=load_experiment({}))
    facts = Comparison(chain, "")
    facts.each([path], check_record)
    assert [check.found for check in facts.finished() if re.search(r" (dense|first|depth) ", check.found)] == []


def test_tuning_on_another_split_or_dataset_passes() -> None:
    assert checked() == [(PASSED, "3 facts agree")]
    assert checked(lambda record: record["tuned"].update(on="y"), dataset="y") == [(PASSED, "3 facts agree")]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tuned: tuned.update(on="x"), "the queries that are evaluated among tuned/on true"),
        (lambda tuned: tuned.update(on="x.sample-5"), "the queries that are evaluated among tuned/on true"),
        (lambda tuned: tuned.update(on="y"), 'tuned / on ["y", "y", "dev"]'),
        (lambda tuned: tuned.update(chosen=[1.0, 0.0]), "tuned / chosen 0.3"),
        (lambda tuned: tuned.update(chosen=[0.4, 0.6]), "tuned / chosen null"),
        (lambda tuned: tuned.update(on="z"), "has no z"),
        (lambda tuned: tuned.clear(), "on"),
    ],
)
def test_anything_else_fails(change: Callable[[dict[str, Any]], Any], says: str) -> None:
    failed = [found for status, found in checked(lambda record: change(record["tuned"])) if status == FAILED]
    assert any(says in found for found in failed), failed


def test_a_record_without_tuning_fails() -> None:
    ((status, found),) = checked(dict.clear)
    assert status == FAILED
    assert "tuned" in found
