"""The chain of digests: which record names which file, from the manifest down to the models.

Every record says what it was made from and what it describes, as paths and digests, so the chain knows no family of systems. Only
paths of one safe form are followed, so that nothing outside the folder is looked at.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.audit.checks import EVERYTHING, UNREADABLE, Check, RecordError, Result, unreadable
from beirflow.files.layout import CORPUS, MANIFEST, METRICS, RUN, SUMMARY, is_safe
from beirflow.files.records import SHA256


@dataclass(frozen=True)
class Claim:
    """The digest that a record gives for a file."""

    sha256: str
    by: str


@dataclass
class Chain:
    """Everything that the manifest leads to.

    Attributes:
        folder: The results.
        shown: The folder as written in commands.
        manifest: The root.
        claims: By file, what records say of it.
        results: By file, the systems and datasets that depend on it.
        records: By path, the records that could be read; None for one that could not.
        evaluated: Systems and corpora that have metrics, each with the row of the summary that it belongs to.
        problems: Records that cannot be read or lack something.
        visited: Records that have been followed, each with the result that led there; a record may name others that name it.
    """

    folder: Path
    shown: str
    manifest: Mapping[str, Any]
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    results: dict[str, set[Result]] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    evaluated: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[Check] = field(default_factory=list)
    visited: set[tuple[str, Result]] = field(default_factory=set)

    @property
    def corpora(self) -> dict[str, Mapping[str, Any]]:
        """By name, the corpora that the manifest names: fields of :class:`~beirflow.experiment.catalogue.Dataset`."""
        return {corpus["name"]: corpus for corpora in part(self.manifest, "datasets", kind=dict).values() for corpus in corpora}

    @property
    def means(self) -> dict[str, Result]:
        """The records of metrics that the summary was made from, each with its system and dataset.

        Raises:
            RecordError: The manifest names something else.
        """
        found = {}
        for path in part(self.manifest, "inputs", kind=dict):
            names = METRICS.names_in(path)
            if names is None:
                raise RecordError(f"names {path!r}, which is no file of metrics of these results")
            found[path] = (names["system"], names["dataset"])
        return found

    @property
    def runs(self) -> list[tuple[str, str]]:
        """Systems and corpora that have a run, those of systems among them that only others need."""
        found = filter(None, map(RUN.names_in, self.claims))
        return [(names["system"], names["dataset"]) for names in found]

    def repair_command(self, *paths: str, goal: str = SUMMARY) -> str:
        """The commands that make files again, and after them what is made from them."""
        names = [f"{self.shown}/{path}" for path in paths]
        goals = dict.fromkeys([*names, f"{self.shown}/{goal}"])
        return f"rm -f {' '.join(names)}; snakemake --cores 2 {' '.join(goals)}"

    def record(self, path: str) -> dict[str, Any]:
        """A record that the chain leads to.

        Args:
            path: Its path below the results.

        Returns:
            What it holds.

        Raises:
            RecordError: It could not be read.
        """
        found = self.records.get(path)
        if found is None:
            raise RecordError("could not be read", path)
        return found

    def follow(self) -> None:
        """Walk from the manifest to every file that it leads to."""
        for path, digest in part(self.manifest, "outputs", kind=dict).items():
            self._claim(path, digest, MANIFEST, EVERYTHING)
        for path, result in self.means.items():
            self._claim(path, self.manifest["inputs"][path], MANIFEST, result)
            self._visit(path, result)

    def _claim(self, path: str, sha256: Any, by: str, result: Result) -> None:
        """Note that the record ``by`` says the digest of ``path``."""
        if not is_safe(path):
            raise RecordError(f"names {path!r}, which is no path below the results")
        if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
            raise RecordError(f"the sha256 of {path} is {sha256!r}")
        claim = Claim(sha256, by)
        if claim not in self.claims.setdefault(path, []):
            self.claims[path].append(claim)
        self.results.setdefault(path, set()).add(result)

    def _visit(self, path: str, result: Result) -> None:
        """Take in what a record says, and follow the records that it names."""
        if (path, result) in self.visited:
            return
        self.visited.add((path, result))
        try:
            record = self._read(path)
            if record is None:
                return
            for key in ("outputs", "inputs"):
                for name, digest in part(record, key, kind=dict).items():
                    self._claim(name, digest, path, result)
            self._note_run(path, record, result)
            for name in record["inputs"]:
                if name.endswith(".json"):
                    self._visit(name, result)
        except UNREADABLE as error:
            self._problem(path, error, result)

    def _note_run(self, path: str, record: Mapping[str, Any], result: Result) -> None:
        """Remember the system and the corpus of metrics that were computed from a run."""
        names = METRICS.names_in(path)
        if names and RUN(**names) in record["inputs"]:
            if CORPUS(dataset=names["dataset"]) not in record["inputs"]:
                raise RecordError(f"names no {CORPUS(dataset=names['dataset'])}")
            self.evaluated[names["system"], names["dataset"]] = result[1]

    def _read(self, path: str) -> Any:
        """A record, or None where it is missing or was noted as unreadable before."""
        if path not in self.records:
            self.records[path] = None
            try:
                record = read_record(self.folder / path)
            except FileNotFoundError:  # noted where digests are compared
                return None
            if record.get("path") != path:
                raise RecordError(f"is the record of {record.get('path')!r}")
            self.records[path] = record
        return self.records[path]

    def _problem(self, path: str, error: Exception, result: Result) -> None:
        results = self.results.get(path, set()) | {result}
        check = unreadable("records can be read", path, error, results, self.repair_command(path))
        if check not in self.problems:
            self.problems.append(check)


def read_record(path: Path) -> Any:
    """Read a JSON object.

    Args:
        path: The file.

    Returns:
        The object.

    Raises:
        ValueError: It is not JSON, or not an object.
    """
    record = json.loads(path.read_bytes())
    if not isinstance(record, dict):
        raise ValueError(f"a JSON object was expected, found {type(record).__name__}")
    return record


def part(record: Any, *keys: str, kind: type = object) -> Any:
    """A field of a record.

    Args:
        record: The record.
        *keys: From the outside to the inside.
        kind: What it must be.

    Returns:
        The value.

    Raises:
        RecordError: There is none, or one of another kind.
    """
    for key in keys:
        if not isinstance(record, dict) or key not in record:
            raise RecordError(f"has no {' / '.join(keys)}")
        record = record[key]
    if not isinstance(record, kind):
        raise RecordError(f"has {type(record).__name__} as {' / '.join(keys)}, expected {kind.__name__}")
    return record
