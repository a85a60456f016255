"""The chain of digests: the files that each record names, from the manifest down to the models.

Every record says what it was made from and what it describes, as paths and digests, so the chain knows no family of systems. Only
paths of one safe form are followed, so that nothing outside the folder is looked at.
"""

import errno
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from beirflow.audit.chain.checks import EVERYTHING, FAILED, NOT_CHECKED, UNREADABLE, Check, RecordError, Result, unique
from beirflow.audit.chain.folder import Listing, list_folder
from beirflow.audit.chain.limits import Limits
from beirflow.audit.chain.reading import part, read_record
from beirflow.audit.chain.repairs import Call, Repairs
from beirflow.audit.chain.setup import Setup
from beirflow.config.manifest import TUNED_ON
from beirflow.core.errors import DataError
from beirflow.core.layout import CORPUS, MANIFEST, METRICS, RUN, SUMMARY
from beirflow.core.patterns import is_safe
from beirflow.core.records import FORMAT, RECORD_DIGEST, SHA256, read_json

MOST_FILES = 200_000  # files that records may name all together; BEIR in chunks has fewer


@dataclass(frozen=True)
class Claim:
    """The digest that a record gives for a file."""

    sha256: str
    by: str


def in_words(error: Exception) -> str:
    """Say what is wrong with a file that cannot be read, also where Python has no sentence for it."""
    if isinstance(error, (RecordError, DataError)):
        return str(error)
    said = str(error)[:200]
    if isinstance(error, KeyError):
        return f"has no {said}"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return f"holds a value of another kind or size ({said})"
    if isinstance(error, (MemoryError, RecursionError)):
        return "is too large or too deep to be read"
    return f"cannot be read ({said or type(error).__name__})"


@dataclass
class Chain:
    """Everything that the manifest leads to."""

    folder: Path  # the results
    manifest: Mapping[str, Any]  # the root
    claims: dict[str, list[Claim]] = field(default_factory=dict)  # by file, what records say of it
    results: dict[str, set[Result]] = field(default_factory=dict)  # by file, the systems and datasets that depend on it
    records: dict[str, Any] = field(default_factory=dict)  # by path, the records that could be read; None for one that could not
    # systems and corpora that have metrics, each with the row of the summary that it belongs to
    evaluated: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[Check] = field(default_factory=list)  # records that cannot be read or lack something
    # records that have been followed, each with the result that led there; a record may name others that name it
    visited: set[tuple[str, Result]] = field(default_factory=set)
    call: Call = field(default_factory=Call)  # how the audit was called, for the commands that repair something
    documents: dict[str, Any] = field(default_factory=dict)  # by corpus, its documents: facts.corpora.Prepared
    unpacked: set[str] = field(default_factory=set)  # tables that were read as a whole, within the limits
    busy: frozenset[str] = frozenset()  # files that a run in progress writes
    # by file and key, keys joined with slashes, what a fact was compared with
    compared: dict[tuple[str, str], str] = field(default_factory=dict)
    audited_with: Setup | None = None  # the configuration of the person who audits; None if the chain is only followed

    @property
    def setup(self) -> Setup:
        """The configuration of the person who audits.

        Raises:
            ValueError: Nobody does.
        """
        if self.audited_with is None:
            raise ValueError("this chain is followed without a configuration")
        return self.audited_with

    @cached_property
    def limits(self) -> Limits:
        """Return the limits of reading the folder; holes in its files have no size."""
        return Limits(sum((self.folder / path).lstat().st_blocks << 9 for path in self.listing.files))

    @cached_property
    def repairs(self) -> Repairs:
        """Return what makes the commands that repair something."""
        return Repairs(str(self.folder), self.call)

    @cached_property
    def listing(self) -> Listing:
        """Return the content of the folder."""
        return list_folder(self.folder)

    @property
    def corpora(self) -> dict[str, Mapping[str, Any]]:
        """By name, the corpora that the manifest names: fields of :class:`~beirflow.data.catalogue.dataset.Dataset`."""
        rows = {**self.tuning_rows, **part(self.manifest, "datasets", kind=dict)}
        return {corpus["name"]: corpus for corpora in rows.values() for corpus in corpora}

    def whole(self, dataset: str) -> tuple[str, str]:
        """Return the dataset and the corpus that a corpus belongs to, where it is another split or a sample, else its own."""
        corpus = part(self.corpora, dataset, kind=dict)
        row = corpus.get("part_of") or corpus["row"]
        return row, f"{row}-{corpus['forum']}" if corpus["forum"] else row

    @property
    def tuning_rows(self) -> dict[str, Any]:
        """By dataset that is not evaluated, but on which systems were tuned, its corpora; in the form of ``datasets``."""
        found: dict[str, Any] = part(self.manifest, TUNED_ON, kind=dict) if TUNED_ON in self.manifest else {}
        return found

    @property
    def prepared(self) -> list[str]:
        """Names of the corpora that were evaluated, or that systems were tuned on."""
        return sorted({names["dataset"] for names in map(CORPUS.names_in, self.claims) if names})

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

    def file(self, path: str) -> Path:
        """Return a plain file of the results; raise RecordError for a link or a pipe, FileNotFoundError for nothing."""
        if odd := self.listing.oddity(path):
            raise RecordError(f"{odd[0]} is {odd[1]}, which is not followed or opened; a plain file was expected", path)
        if path not in self.listing.files:
            raise FileNotFoundError(errno.ENOENT, "is missing", path)
        return self.folder / path

    def repair_command(self, *paths: str, goal: str = SUMMARY) -> str:
        """Return the command that makes files again, and after them what is made from them."""
        present = [path for path in paths if path in self.listing.files or path in self.listing.odd]
        return self.repairs.make_again(present, [*paths, goal])

    def affected(self, path: str) -> tuple[Result, ...]:
        """Return the systems and datasets that depend on a file."""
        return unique(self.results.get(path, ()))

    def failed(self, name: str, path: str, found: str, expected: str, results: Iterable[Result] | None = None) -> Check:
        """Return a failed check of a file, with the command that makes it again; ``results`` are what depends on it if None."""
        affected = self.affected(path) if results is None else unique(results)
        return Check(name, FAILED, found, expected, (path,), affected, self.repair_command(path))

    def unreadable(
        self, name: str, path: str, error: Exception, results: Iterable[Result] | None = None, repair: str | None = None
    ) -> Check:
        """Return a check of a file that cannot be read: of the one that the error is about, unless a repair of ``path`` is given.

        It failed; it was not checked where the file is missing, since that is a failure of its own elsewhere.
        """
        cause = path if repair is not None else str(getattr(error, "path", None) or path)
        affected = self.affected(path) if results is None else unique(results)
        repair = repair or self.repair_command(cause)
        if isinstance(error, FileNotFoundError):
            return Check(name, NOT_CHECKED, f"{cause}: {error.filename} is missing", "", (cause,), affected, repair)
        return Check(name, FAILED, f"{cause}: {in_words(error)}", "what beirflow writes", (cause,), affected, repair)

    def guarded(
        self,
        name: str,
        path: str,
        check: Callable[[], Iterable[Check]],
        results: Iterable[Result] | None = None,
        repair: str | None = None,
    ) -> list[Check]:
        """Return the checks that ``check`` makes of a file, and at the end that it cannot be read, as :meth:`unreadable` does."""
        checks: list[Check] = []
        try:
            checks.extend(check())
        except UNREADABLE as error:
            checks.append(self.unreadable(name, path, error, results, repair))
        return checks

    def record(self, path: str) -> dict[str, Any]:
        """Return the content of a record that the chain leads to; raise RecordError if it could not be read."""
        found = self.records.get(path)
        if found is None:
            raise RecordError("could not be read", path)
        return found

    def note(self, path: str, key: str, found: Any, by: str) -> None:
        """Remember that the fact ``key``, keys joined with slashes, was compared with ``by``; of a mapping, every fact in it."""
        if isinstance(found, Mapping) and found:
            for name, each in found.items():
                self.note(path, f"{key}/{name}", each, by)
        else:
            self.compared.setdefault((path, key), by)

    def follow(self) -> None:
        """Walk from the manifest to every file that it leads to."""
        self.note_form(MANIFEST)
        for path, digest in part(self.manifest, "outputs", kind=dict).items():
            self._claim(path, digest, MANIFEST, EVERYTHING)
        means = self.means
        for path, result in means.items():
            self._claim(path, self.manifest["inputs"][path], MANIFEST, result)
        for path, result in means.items():
            self._visit(path, result)

    def _claim(self, path: str, sha256: Any, by: str, result: Result) -> None:
        """Note that the record ``by`` says the digest of ``path``."""
        if not is_safe(path):
            raise RecordError(f"names {path!r}, which is no path below the results")
        if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
            raise RecordError(f"the sha256 of {path} is {sha256!r}")
        if path not in self.claims and len(self.claims) >= MOST_FILES:
            raise RecordError(f"names {path}, but at most {MOST_FILES:,} files are looked at")
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
        """Remember the system and the corpus of metrics that are of a run, also where they do not name it."""
        names = METRICS.names_in(path)
        if names and names["dataset"] in self.corpora:
            if CORPUS(dataset=names["dataset"]) not in record["inputs"]:
                raise RecordError(f"names no {CORPUS(dataset=names['dataset'])}")
            self.evaluated[names["system"], names["dataset"]] = result[1]

    def read_whole(self, path: str) -> dict[str, Any]:
        """Read a record; raise RecordError unless it is that of its path, of a known format, and as it was written."""
        file = self.file(path)
        record: dict[str, Any] = read_record(file)
        if record.get("path") != path:
            raise RecordError(f"is the record of {record.get('path')!r}", path)
        if record.get("format") != FORMAT:
            raise RecordError(f"has the format {record.get('format')!r}, and this beirflow reads the format {FORMAT}", path)
        if not is_whole(file):
            raise RecordError(f"has another content than its own {RECORD_DIGEST}, {record.get(RECORD_DIGEST)}, says", path)
        return record

    def _read(self, path: str) -> Any:
        """Return a record, or None where it is missing or was noted as unreadable before."""
        if path not in self.records:
            self.records[path] = None
            try:
                self.records[path] = self.read_whole(path)
                self.note_form(path)
            except FileNotFoundError:  # noted where digests are compared
                return None
        return self.records[path]

    def note_form(self, path: str) -> None:
        """Remember that the form of a record, which :meth:`read_whole` checks, was compared."""
        for key in ("path", "format", RECORD_DIGEST):
            self.note(path, key, None, "its place and content")

    def _problem(self, path: str, error: Exception, result: Result) -> None:
        check = self.unreadable("records can be read", path, error, self.results.get(path, set()) | {result})
        if check not in self.problems:
            self.problems.append(check)


def is_whole(file: Path) -> bool:
    """Test whether a record has the content that its own digest states."""
    try:
        read_json(file)
    except DataError:
        return False
    return True
