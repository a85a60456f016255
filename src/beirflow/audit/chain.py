"""Chain of digests: the files that each record names, from the manifest down to the models.

Every record names its inputs and outputs by path and digest, so the chain knows no family. Only safe relative paths are followed,
so nothing outside the folder is read.
"""

import errno
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from beirflow.audit.checks import (
    EVERYTHING,
    FAILED,
    NOT_CHECKED,
    PASSED,
    SHOWN,
    UNREADABLE,
    WARNING,
    Check,
    RecordError,
    Result,
    unique,
)
from beirflow.audit.folder.limits import Limits
from beirflow.audit.folder.listing import Listing, list_folder
from beirflow.audit.folder.reading import open_parquet, part, read_record
from beirflow.audit.repairs import Call, Repairs
from beirflow.config.manifest import TUNED_ON
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS, PAGE_RECORDS, REPRESENTATIONS, is_one_of
from beirflow.core.layout import MANIFEST, METRICS, RUN, SUMMARY
from beirflow.core.patterns import is_safe
from beirflow.core.records import RECORD_DIGEST, SHA256, format_problem, read_json

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk, which is no fault of the results."""

MOST_FILES = 200_000  # files that records may name all together; BEIR in chunks has fewer

EARLIER = "derived files are of these results"  # name of the check that earlier ones are not

REPRESENTED = "representations are as they were recorded"


def in_words(error: Exception) -> str:
    """Describe why a file cannot be read, also for exceptions without a sentence of their own."""
    if isinstance(error, (RecordError, DataError)):
        return str(error)
    message = str(error)[:200]
    if isinstance(error, KeyError):
        return f"has no {message}"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return f"holds a value of another type or size ({message})"
    if isinstance(error, (MemoryError, RecursionError)):
        return "is too large or too deep to be read"
    return f"cannot be read ({message or type(error).__name__})"


@dataclass
class Chain:
    """Files and records that the manifest leads to, and what was found about them."""

    folder: Path  # the results
    manifest: Mapping[str, Any] = field(default_factory=dict)  # the root
    call: Call = field(default_factory=Call)  # command line of the audit, for repair commands
    claims: dict[str, dict[str, str]] = field(default_factory=dict)  # by file and digest, a record that names both
    results: dict[str, set[Result]] = field(default_factory=dict)  # by file, the systems and datasets that depend on it
    records: dict[str, Any] = field(default_factory=dict)  # by path, the records that could be read; None for one that could not
    earlier: set[str] = field(default_factory=set)  # unchanged files of pages that show earlier results
    changed: dict[str, str] = field(default_factory=dict)  # other files of such pages, by path the record that names them
    broken: set[str] = field(default_factory=set)  # files that are missing or not as recorded
    problems: list[Check] = field(default_factory=list)  # records that cannot be read or lack something
    # records that have been followed, each with the result that led there; a record may name others that name it
    visited: set[tuple[str, Result]] = field(default_factory=set)

    @cached_property
    def limits(self) -> Limits:
        """Return the limits of reading the folder; holes in its files have no size."""
        return Limits(sum((self.folder / path).lstat().st_blocks << 9 for path in self.listing.files))

    @cached_property
    def repairs(self) -> Repairs:
        """Return the repair commands of these results."""
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

    @property
    def tuning_rows(self) -> dict[str, Any]:
        """By dataset that is not evaluated, but on which systems were tuned, its corpora; in the form of ``datasets``."""
        return part(self.manifest, TUNED_ON, kind=dict) if TUNED_ON in self.manifest else {}

    @property
    def means(self) -> dict[str, Result]:
        """The records of metrics that the summary was made from, each with its system and dataset.

        Raises:
            RecordError: The manifest names something else.
        """
        means = {}
        for path in part(self.manifest, "inputs", kind=dict):
            names = METRICS.names_in(path)
            if names is None:
                raise RecordError(f"names {path!r}, which is no file of metrics of these results")
            means[path] = (names["system"], names["dataset"])
        return means

    @property
    def runs(self) -> list[Result]:
        """Systems and corpora that have a run, including systems that only other systems need."""
        return RUN.pairs_in(self.claims)

    @property
    def evaluated(self) -> list[Result]:
        """Systems and corpora with their own metrics; the mean of forums has none of its own."""
        return [(system, dataset) for system, dataset in METRICS.pairs_in(self.claims) if dataset in self.corpora]

    def file(self, path: str) -> Path:
        """Return a regular file of the results; raise RecordError for a link or a pipe, FileNotFoundError if it is missing."""
        self.refuse_odd(path)
        if path not in self.listing.files:
            raise FileNotFoundError(errno.ENOENT, "is missing", path)
        return self.folder / path

    def refuse_odd(self, path: str) -> None:
        """Raise RecordError for a path that is, or is below, a link, a pipe or the like."""
        if odd := self.listing.oddity(path):
            raise RecordError(f"{odd[0]} is {odd[1]}, which is not followed or opened; a plain file was expected", path)

    def repair_command(self, *paths: str, goal: str = SUMMARY) -> str:
        """Return the command that rebuilds files and then what depends on them."""
        present = [path for path in paths if path in self.listing.files or path in self.listing.odd]
        return self.repairs.make_again(present, [*paths, goal])

    def aside(self, paths: Collection[str]) -> str:
        """Return the command that moves files away, whole folders where these hold nothing else."""
        return self.repairs.aside(self.listing.folded(paths))

    def affected(self, path: str) -> tuple[Result, ...]:
        """Return the systems and datasets that depend on a file."""
        return unique(self.results.get(path, ()))

    def failed(self, name: str, path: str, found: str, expected: str, results: Iterable[Result] | None = None) -> Check:
        """Return a failed check of a file, with the command that rebuilds it; ``results`` are those that depend on it if None."""
        affected = self.affected(path) if results is None else unique(results)
        return Check(name, FAILED, found, expected, (path,), affected, self.repair_command(path))

    def unreadable(
        self, name: str, path: str, error: Exception, results: Iterable[Result] | None = None, repair: str | None = None
    ) -> Check:
        """Return the check of an unreadable file: the file that the error names, unless a repair of ``path`` is given.

        It is failed, but "not checked" for a missing file, which is a failure of its own elsewhere.
        """
        cause = path if repair is not None else str(getattr(error, "path", None) or path)
        affected = self.affected(path) if results is None else unique(results)
        repair = repair or self.repair_command(cause)
        if isinstance(error, FileNotFoundError):
            return Check(name, NOT_CHECKED, f"{cause}: {error.filename} is missing", "", (cause,), affected, repair)
        if isinstance(error, OSError) and error.errno in FULL:
            found = f"{cause}: the disk of {tempfile.gettempdir()}, where files are rebuilt, is full; set TMPDIR to another"
            return Check(name, NOT_CHECKED, found, "", (cause,), affected)
        return Check(name, FAILED, f"{cause}: {in_words(error)}", "what beirflow writes", (cause,), affected, repair)

    def guarded(self, name: str, path: str, check: Callable[[], Iterable[Check]]) -> list[Check]:
        """Collect the checks of a file; add :meth:`unreadable` if it cannot be read."""
        checks: list[Check] = []
        try:
            checks.extend(check())
        except UNREADABLE as error:
            checks.append(self.unreadable(name, path, error))
        return checks

    def record(self, path: str) -> dict[str, Any]:
        """Return the content of a record that the chain leads to; raise RecordError if it could not be read."""
        if (record := self.records.get(path)) is None:
            raise RecordError("could not be read", path)
        return record

    def follow(self) -> None:
        """Follow the records from the manifest to every file."""
        for path, digest in part(self.manifest, "outputs", kind=dict).items():
            self._claim(path, digest, MANIFEST, EVERYTHING)
        means = self.means
        for path, result in means.items():
            self._claim(path, self.manifest["inputs"][path], MANIFEST, result)
        for path, result in means.items():
            self._visit(path, result)

    def follow_pages(self) -> None:
        """Add the files that the records of pages name."""
        for path in (path for path in PAGE_RECORDS if path in self.listing.files):
            self.problems += self.guarded("records can be read", path, partial(self._visit_page, path))

    def _claim(self, path: str, sha256: Any, by: str, *results: Result) -> None:
        """Add the digest of ``path`` that the record ``by`` names."""
        if not is_safe(path):
            raise RecordError(f"names {path!r}, which is no path below the results")
        if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
            raise RecordError(f"the sha256 of {path} is {sha256!r}")
        if path not in self.claims and len(self.claims) >= MOST_FILES:
            raise RecordError(f"names {path}, but at most {MOST_FILES:,} files are read")
        self.claims.setdefault(path, {}).setdefault(sha256, by)
        self.results.setdefault(path, set()).update(results)

    def _visit(self, path: str, result: Result) -> None:
        """Add the files that a record names, and follow the records among them."""
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
            for name in record["inputs"]:
                if name.endswith(".json"):
                    self._visit(name, result)
        except UNREADABLE as error:
            check = self.unreadable("records can be read", path, error, self.results.get(path, set()) | {result})
            if check not in self.problems:
                self.problems.append(check)

    def _visit_page(self, path: str) -> Iterator[Check]:
        """Add the files that the record of a page names, or note that they show earlier results."""
        record = self.read_whole(path)
        files = part(record, "outputs", kind=dict)
        if part(record, "inputs", MANIFEST) == file_digest(self.file(MANIFEST)):
            for name, digest in files.items():
                self._claim(name, digest, path)
            return
        here = {name: file_digest(self.file(name)) for name in files if name in self.listing.files}
        self.changed |= {name: path for name, digest in here.items() if digest != files[name]}
        self.earlier |= {path, *(here.keys() - self.changed)}
        found = f"{len(self.earlier)} files are of an earlier configuration (according to {path}): they do not show these results"
        todo = self.repairs.make_again([], [PAGE_RECORDS[path]])
        yield Check(EARLIER, WARNING, found, "", tuple(self.earlier), (), todo)

    def read_whole(self, path: str) -> dict[str, Any]:
        """Read a record; raise RecordError unless it is that of its path, of a known format, and as it was written."""
        file = self.file(path)
        record: dict[str, Any] = read_record(file)
        if record.get("path") != path:
            raise RecordError(f"is the record of {record.get('path')!r}", path)
        if problem := format_problem(record):
            raise RecordError(problem, path)
        if not is_whole(file):
            raise RecordError(f"does not match its own {RECORD_DIGEST}, {record.get(RECORD_DIGEST)}", path)
        return record

    def _read(self, path: str) -> Any:
        """Return a record, or None where it is missing or was noted as unreadable before."""
        if path not in self.records:
            self.records[path] = None
            try:
                self.records[path] = self.read_whole(path)
            except FileNotFoundError:  # noted where digests are compared
                return None
        return self.records[path]


def is_whole(file: Path) -> bool:
    """Test whether the content of a record matches its own digest."""
    try:
        read_json(file)
    except DataError:
        return False
    return True


def check_digests(chain: Chain) -> Iterator[Check]:
    """Follow the chain, and compare every file with every record that names it."""
    chain.follow()
    chain.follow_pages()
    name, good, size = "files are as they were recorded", 0, 0
    absent: list[str] = []
    yield from chain.problems
    for path, claims in sorted(chain.claims.items()):
        is_here = path in chain.listing.files
        absent += [] if is_here else [path]
        digest = file_digest(chain.folder / path) if is_here else next(iter(claims))
        wrong = {other: by for other, by in claims.items() if other != digest}
        chain.broken |= {path} if wrong or not is_here else set()
        if wrong:
            found = f"{path} has the sha256 {digest}" if is_here else f"{path} is missing; {claims[digest]} records {digest}"
            yield chain.failed(name, path, found, "; ".join(f"{other} ({by})" for other, by in wrong.items()))
        elif is_here:
            good, size = good + 1, size + chain.listing.files[path]
            if path.endswith(".parquet"):
                yield from chain.guarded("files are read alike by all readers", path, partial(_check_head, chain, path))
    yield from _absent(chain, absent)
    yield Check(name, PASSED, f"{good} files, {size:,} bytes, have the digests that every record of them names")


def _check_head(chain: Chain, path: str) -> Iterator[Check]:
    open_parquet(chain.folder / path, path).close()
    yield from ()


def _absent(chain: Chain, paths: list[str]) -> Iterator[Check]:
    """Report missing files: representations may have been deleted, all others fail."""
    is_kept = chain.manifest["configuration"].get("keep_representations") is not False
    deleted = list[str]()
    for number, path in enumerate(paths):
        by = next(iter(chain.claims[path].values()))
        if odd := chain.listing.oddity(path):
            problem = f"{odd[0]} is {odd[1]}, which is not followed or opened"
            repair = chain.repair_command(odd[0], path)
            expected = f"the file that {by} names"
            yield Check("results are plain files", FAILED, problem, expected, (path,), chain.affected(path), repair)
        elif path.startswith(REPRESENTATIONS):
            deleted.append(path)
        elif number >= SHOWN:
            problem = f"{len(paths) - SHOWN:,} further files are missing, e.g. {path}"
            yield Check("no file is missing", FAILED, problem, files=tuple(paths[SHOWN:]))
            break
        else:
            yield chain.failed("no file is missing", path, f"{path} is missing", f"{by} names it")
    if deleted:
        are_chunks = all(is_one_of(path, CHUNKS_OF_REPRESENTATIONS) for path in deleted)
        why = "perhaps to save disk" if is_kept or not are_chunks else "by keep_representations: false"
        found = f"{len(deleted)} files were deleted, {why}, and not compared, e.g. {deleted[0]}"
        results = unique(result for path in deleted for result in chain.results[path])
        repair = "" if why.startswith("by") else chain.repair_command(*deleted[:SHOWN])
        yield Check(REPRESENTED, NOT_CHECKED, found, "", tuple(deleted[:SHOWN]), results, repair)
