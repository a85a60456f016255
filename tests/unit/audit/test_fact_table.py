"""The table of facts: what was compared, and what was not."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.chain import Chain
from beirflow.audit.fact_table import FURTHER, Fact, explanation, fact_table, uncompared
from beirflow.core.errors import DataError
from beirflow.core.layout import RUN_RECORD

RECORD = {"inputs": {"x": "1"}, "jobs": ["a", "b"], "made": {"torch": "2"}, "seconds": {"search": 1, "merge": 2}, "top_k": 10}


@pytest.fixture
def facts() -> list[Fact]:
    chain = Chain(Path("results"), {})
    chain.records = (
        {"manifest.json": {"written": "today", "inputs": {}}}
        | {f"runs/{system}/x.json": RECORD for system in "ab"}
        | {"runs/c/x.json": None}
    )
    for system in "ab":
        chain.note(f"runs/{system}/x.json", "top_k", 10, "manifest.json")
    chain.note("runs/a/x.json", "made", {"torch": "2"}, "the vectors")
    return fact_table(chain)


def test_a_fact_counts_its_places_and_those_that_were_compared(facts: list[Fact]) -> None:
    table = {fact.key: fact for fact in facts if fact.file == RUN_RECORD}
    assert table["top_k"] == Fact(RUN_RECORD, "top_k", 2, 2, "manifest.json")
    assert table["made/torch"] == Fact(RUN_RECORD, "made/torch", 2, 1, "the vectors")
    assert table["jobs"] == Fact(RUN_RECORD, "jobs", 4, 0, "")
    assert "inputs/x" not in table


def test_what_some_record_states_alone_is_listed(facts: list[Fact]) -> None:
    assert uncompared(facts) == ["manifest.json: written", f"{RUN_RECORD}: jobs, made/torch, seconds/*"]


def test_a_fact_is_explained_by_its_last_keys(facts: list[Fact]) -> None:
    assert explanation(facts, "torch") == [f"made/torch in {RUN_RECORD}: compared at 1 of 2 places, one of them with the vectors"]
    assert explanation(facts, "seconds/merge") == [f"seconds/merge in {RUN_RECORD}: stated only here; compared with nothing"]


def test_an_unknown_fact_is_an_error_that_names_the_nearest(facts: list[Fact]) -> None:
    with pytest.raises(DataError, match=r"seconds/serch.*did you mean 'seconds/search'"):
        explanation(facts, "seconds/serch")


def test_a_record_of_any_depth_and_length_is_read_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    record = {"written": deep, "seconds": {str(number): 1 for number in range(20)}}
    chain = Chain(Path("results"), {}, records={"manifest.json": record})
    monkeypatch.setattr("beirflow.audit.fact_table.MOST", 10)
    facts = fact_table(chain)
    assert len(facts) == 11
    assert Fact("manifest.json", FURTHER, 1, 0, "") in facts
    assert FURTHER in uncompared(facts)[0]
