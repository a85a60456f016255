"""Artifacts and steps: the files of the results, and the functions that make them of one another.

A step is a function from opened inputs to data. The runner (:mod:`beirflow.run.rule_call`) opens and verifies its
inputs, writes what it returns, and writes its record::

    @step(Statistics, stage="index", ancestors=(DOCUMENTS,))
    def sum_statistics(postings: Sequence[Postings], index: Index) -> Made: ...

A parameter whose type is an artifact is the input of the rule with that name; ``threads`` are those of the job; any other is the
value in the rule's ``params``, or the wildcard, of that name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, ClassVar

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.patterns import Pattern
from beirflow.core.records import output_digest, read_json
from beirflow.core.verified import check_digest
from beirflow.core.writing import DigestingWriter

Stream = BinaryIO | DigestingWriter
"""File to which an artifact is written; nothing of it can be read, nor written again."""


SOURCES = "sources"
"""Key of a record with facts of other records, by their paths."""

TAKEN = "taken"
"""Key of a record: the place outside the results, and its entry, that a store has taken the file from."""


class Artifact:
    """A file of the results whose record has been read; each kind of file is a subclass. A record is its own.

    Raises DataError if the record was damaged, or does not name the file.
    """

    pattern: ClassVar[Pattern]  # of the paths of such files
    large: ClassVar[bool] = False  # the digest is compared while a step reads the file, in place of before
    represents: ClassVar[bool] = False  # holds texts as they are searched, so that its size is recorded

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.record_path = self.find_record(self.path)
        self.record: Mapping[str, Any] = self.read_record(self.record_path)
        is_record = self.path == self.record_path
        self.digest = file_digest(self.path) if is_record else output_digest(self.record, self.path)
        self.name = str(PurePosixPath(self.record["path"]).with_name(self.path.name))

    @property
    def results(self) -> Path:
        """Folder of all results."""
        return self.path.parents[self.name.count("/")]

    @property
    def names(self) -> dict[str, str]:
        """Names in its path, such as the chunk."""
        return self.pattern.names_in(self.name) or {}

    @property
    def named(self) -> dict[str, str]:
        """Digests by which the record of what is made from this file names it, by path below the results."""
        return {self.name: self.digest, self.record["path"]: file_digest(self.record_path)}

    @property
    def ancestors(self) -> Mapping[str, str]:
        """Digests of what it was made from, which the record of what is made from it may name; none of a record itself."""
        inputs: Mapping[str, str] = self.record.get("inputs", {}) if self.path != self.record_path else {}
        return inputs

    @property
    def here(self) -> dict[str, str]:
        """Digests of what must not be another file for any input: this file, and the records that it names as its sources.

        Such a record may be gone, as representations are deleted.
        """
        sources = {name: self.results / name for name in self.record.get(SOURCES, ())}
        return {**self.named, **{name: file_digest(path) for name, path in sources.items() if path.is_file()}}

    def check(self) -> None:
        """Raise DataError unless the file has the digest in its record."""
        check_digest(self.path, self.digest, self.record_path)

    @staticmethod
    def find_record(path: Path) -> Path:
        """Return the path of the record of such a file."""
        return record_of(path)

    @staticmethod
    def read_record(path: Path) -> Mapping[str, Any]:
        """Return the record; DataError if it was damaged."""
        return read_json(path)

    @staticmethod
    def write(stream: Stream, data: Any) -> None:
        """Write the content."""
        raise NotImplementedError


class Made:
    """The result of a step: the content of its output, and facts for the record.

    Of the facts, ``seconds`` are those of earlier stages; the runner adds the step's own unless they are there, too, since it
    waited. ``read`` are files that it opened besides its inputs. A content that is computed while it is written may add facts.
    It is None where a record is the only output.
    """

    def __init__(self, content: Any, **fields: Any) -> None:
        self.content, self.fields = content, fields


@dataclass(frozen=True)
class Step:
    """A function that makes an artifact, and its properties for the runner."""

    function: Callable[..., Made]
    makes: type[Artifact] | None
    stage: str
    ancestors: Sequence[Pattern] | None
    same: Sequence[str]

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__

    def __call__(self, *arguments: Any, **named: Any) -> Made:
        """Call the function itself."""
        return self.function(*arguments, **named)

    def inputs(self, opened: Sequence[Artifact]) -> dict[str, str]:
        """Return the digests that the record of the output names, by path below the results."""
        inputs: dict[str, str] = {}
        for each in opened:
            ancestors, kinds = each.ancestors, self.ancestors
            inputs |= {
                name: ancestors[name]
                for name in ancestors
                if kinds is None or any(kind.names_in(name) is not None for kind in kinds)
            }
        for each in opened:
            inputs |= each.named
        return inputs


def step(
    makes: type[Artifact] | None, *, stage: str, ancestors: Sequence[Pattern] | None = (), same: Sequence[str] = ()
) -> Callable[[Callable[..., Made]], Step]:
    """Return the decorator of a function that makes an artifact; None for a record without another file.

    ``stage`` is the name of its time in records; ``ancestors`` are the files behind its inputs that its own record names too,
    None for all of them; ``same`` are the facts in which all inputs and parameters that have them must agree.
    """
    return lambda function: Step(function, makes, stage, ancestors, same)
