"""The runner opens and verifies what a step reads, and writes and records what it makes, or nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.artifact import Artifact, Made, Stream, step
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.patterns import Pattern
from beirflow.core.records import Job, read_json, write_record
from steps import TextFile, run

TEXTS, COUNTS, TOTAL = Pattern("texts/{name}.txt"), Pattern("counts/{name}.txt"), Pattern("total.txt")


class Text(TextFile):
    """A text."""

    pattern = TEXTS


class LargeText(Text):
    """A text that is compared with its digest while it is read."""

    large = True


class Counts(Artifact):
    """Numbers, written one after another."""

    pattern = COUNTS
    represents = True

    @staticmethod
    def write(stream: Stream, data: Iterator[int]) -> None:
        """Write a line a number."""
        for number in data:
            stream.write(f"{number}\n".encode())


@dataclass(frozen=True)
class Sign:
    """What is counted."""

    sign: str


@step(Counts, stage="count", same=("language",))
def count(text: Text, other: Text | None, how: Sign, times: int, threads: int = 1) -> Made:
    """Count a sign."""
    found: dict[str, int] = {}

    def numbers() -> Iterator[int]:
        for each in filter(None, (text, other)):
            found[each.name] = each.read().count(how.sign) * times
            yield found[each.name]

    return Made(numbers(), counts=found, seconds={"earlier": 1.0}, language=text.record["language"])


@step(None, stage="", ancestors=None)
def total(texts: Sequence[LargeText], name: str) -> Made:
    """Count the texts."""
    return Made(None, number=len(texts), length=sum(len(each.read()) for each in texts), called=name)


class Folder:
    """Results with texts and their records."""

    def __init__(self, results: Path) -> None:
        self.results, self.job = results, Job(results, "count/a", "c0de")
        self.write("a", "one two")
        self.write("b", "one")

    def path(self, name: str) -> str:
        return str(self.results / TEXTS(name=name))

    def write(self, name: str, text: str, language: str = "en", **inputs: str) -> None:
        """A text and its record; ``inputs`` are digests of files of the results."""
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        behind = {self.results / f"source/{key}": digest for key, digest in inputs.items()}
        record = path.with_suffix(".json")
        write_record(record, self.job, inputs=behind, outputs={path: file_digest(path)}, language=language)

    def count(self, **changes: Any) -> dict[str, Any]:
        """The record of the numbers of both texts."""
        arguments = {"text": self.path("a"), "other": self.path("b"), "how": {"sign": "o"}, "times": "2"} | changes
        outputs = [str(self.results / COUNTS(name="a")), str(self.results / "counts/a.json")]
        run(count, self.job, outputs, **arguments)
        return read_json(outputs[1])

    def total(self, *names: str) -> dict[str, Any]:
        """The record of the number of texts."""
        output = str(self.results / "total.json")
        run(total, self.job, [output], texts=[self.path(name) for name in names], name="x")
        return read_json(output)

    def refused(self, what: str, *names: str, error: type[Exception] = DataError, **changes: Any) -> str:
        """The error of a step, which has written nothing."""
        with pytest.raises(error, match=what) as caught:
            _ = self.total(*names) if names else self.count(**changes)
        assert not list(self.results.glob("counts/*"))
        assert not (self.results / "total.json").exists()
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "results")


def test_the_record_states_inputs_outputs_and_facts(folder: Folder) -> None:
    record = folder.count()
    seconds = record.pop("seconds")
    assert (list(seconds), seconds["earlier"]) == (["earlier", "count"], 1.0)
    names = ("texts/a.txt", "texts/a.json", "texts/b.txt", "texts/b.json")
    output = folder.results / "counts/a.txt"
    assert output.read_text() == "4\n2\n"
    assert record == {
        "path": "counts/a.json",
        "format": 1,
        "counts": {"texts/a.txt": 4, "texts/b.txt": 2},
        "bytes": {"count": 4},
        "language": "en",
        "inputs": {name: file_digest(folder.results / name) for name in names},
        "outputs": {"counts/a.txt": file_digest(output)},
        "job": "count/a",
        "code": "c0de",
    }


def test_a_record_that_was_changed_or_is_of_another_file_is_refused(folder: Folder) -> None:
    record = Path(folder.path("a")).with_suffix(".json")
    whole = record.read_text()
    record.write_text(whole.replace('"en"', '"de"'))
    folder.refused("not the record that beirflow wrote")
    record.write_text(Path(folder.path("b")).with_suffix(".json").read_text())
    folder.refused("does not name it")
    record.unlink()
    folder.refused("No such file", error=FileNotFoundError)
    record.write_text(whole)
    (folder.results / "texts").rename(folder.results / "other")
    moved = str(folder.results / "other/a.txt")
    folder.refused("it is the record texts/a.json", text=moved, other=None)


def test_inputs_that_were_made_from_different_files_are_refused(folder: Folder) -> None:
    folder.write("a", "one", given="1" * 64)
    folder.write("b", "two", given="2" * 64)
    said = folder.refused("it was made from the source/given")
    assert f"{'2' * 64}, but {'1' * 64} is used here" in said
    folder.refused("source/given", "a", "b")
    folder.write("b", "two", given="1" * 64)
    folder.count()


def test_an_input_that_was_made_from_another_version_of_an_input_is_refused(folder: Folder) -> None:
    path = Path(folder.path("b")).with_suffix(".json")
    outputs = {Path(folder.path("b")): file_digest(folder.path("b"))}
    inputs = {Path(folder.path("a")): "0" * 64}
    write_record(path, folder.job, inputs=inputs, outputs=outputs, language="en")
    assert folder.refused(r"it was made from the texts/a\.txt 0").startswith(str(path))


def test_facts_that_have_to_be_the_same_are_compared(folder: Folder) -> None:
    folder.write("b", "one", language="de")
    assert "made from the language de, but en is used here" in folder.refused("language")
    assert folder.total("a", "b")["number"] == 2  # another step does not depend on it


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"times": None}, "takes no"), ({"further": 1}, "count takes no further of the params"), ({"how": {"other": 1}}, "other")],
)
def test_a_rule_that_does_not_fit_the_step_is_an_error(folder: Folder, changes: Mapping[str, Any], says: str) -> None:
    if changes == {"times": None}:
        outputs = [str(folder.results / "counts/a.txt"), str(folder.results / "counts/a.json")]
        with pytest.raises(TypeError, match="the parameter times of count has no source"):
            run(count, folder.job, outputs, text=folder.path("a"), how={"sign": "o"})
    else:
        folder.refused(says, error=TypeError, **changes)


@step(Counts, stage="fail")
def fail(text: Text) -> Made:
    """Fail while the content is written."""
    return Made(1 // number for number in (1, len(text.read()) * 0))


def test_what_ends_a_step_leaves_nothing(folder: Folder) -> None:
    outputs = [str(folder.results / "counts/a.txt"), str(folder.results / "counts/a.json")]
    with pytest.raises(ZeroDivisionError):
        run(fail, folder.job, outputs, text=folder.path("a"))
    assert not list(folder.results.glob("counts/*"))


CALLED: list[str] = []


@step(Counts, stage="read")
def read_both(text: Text, large: LargeText) -> Made:
    """Note what is read, and fail on a large text that is not the recorded one."""
    CALLED.append(text.name)
    return Made([1 // large.read().count("one")])


def test_a_step_is_not_called_with_a_damaged_input_and_of_a_large_one_the_damage_is_the_error(folder: Folder) -> None:
    CALLED.clear()
    outputs = [str(folder.results / "counts/a.txt"), str(folder.results / "counts/a.json")]
    for damaged, called in (("a", []), ("b", ["texts/a.txt"])):
        path = Path(folder.path(damaged))
        whole = path.read_text()
        path.write_text("other")
        with pytest.raises(DataError, match=f"^{path}: sha256 .*rm {path}$"):  # no ZeroDivisionError
            run(read_both, folder.job, outputs, text=folder.path("a"), large=folder.path("b"))
        assert called == CALLED
        assert not list(folder.results.glob("counts/*"))
        path.write_text(whole)
    run(read_both, folder.job, outputs, text=folder.path("a"), large=folder.path("b"))
    assert Path(outputs[0]).read_text() == "1\n"
