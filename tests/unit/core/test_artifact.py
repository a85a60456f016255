"""An artifact knows its record, what names it, and where it is; a step is its function, with what a runner has to know."""

from pathlib import Path
from typing import Any

import pytest

import steps
from beirflow.core.artifact import Made, step
from beirflow.core.digests import file_digest
from beirflow.core.patterns import Pattern
from beirflow.core.records import Job, write_record

NUMBERS, WORDS = Pattern("numbers/{name}/chunk-{chunk}.txt"), Pattern("words/{name}.txt")


class Numbers(steps.TextFile):
    """Numbers in a text."""

    pattern = NUMBERS


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    """A chunk of numbers, made of words."""
    results = tmp_path / "results"
    path = results / NUMBERS(name="a", chunk=3)
    path.parent.mkdir(parents=True)
    steps.write(Numbers, path, "1 2")
    words = {results / WORDS(name="a"): "0" * 64, results / "other.txt": "1" * 64}
    write_record(path.with_suffix(".json"), Job(results), inputs=words, outputs={path: file_digest(path)})
    return Numbers(path)


def test_an_artifact_is_named_by_its_record_wherever_the_results_are(numbers: Numbers) -> None:
    moved = numbers.results.rename(numbers.results.with_name("moved"))
    found = Numbers(str(moved / "numbers/a/chunk-3.txt"))
    assert (found.name, found.results, found.names) == ("numbers/a/chunk-3.txt", moved, {"name": "a", "chunk": "3"})
    digests = {name: file_digest(moved / name) for name in ("numbers/a/chunk-3.txt", "numbers/a/chunk-3.json")}
    assert found.named == found.here == digests
    assert found.digest == digests["numbers/a/chunk-3.txt"]
    assert found.read() == "1 2"
    found.check()


@pytest.mark.parametrize("ancestors", [(), (WORDS,), None])
def test_a_record_names_the_inputs_and_those_behind_them_of_some_kinds_or_all(numbers: Numbers, ancestors: Any) -> None:
    @step(Numbers, stage="add", ancestors=ancestors)
    def add(numbers: Numbers) -> Made:
        """Return the numbers."""
        return Made(numbers.read())

    behind = {"words/a.txt": "0" * 64, "other.txt": "1" * 64}
    kept = behind if ancestors is None else {name: of for name, of in behind.items() if ancestors and name == "words/a.txt"}
    assert add.inputs([numbers]) == {**kept, **numbers.named}
