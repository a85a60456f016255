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
    FormatError,
    RecordError,
    Result,
    unique,
)
from beirflow.audit.folder.limits import Limits
from beirflow.audit.folder.listing import Listing, list_folder
from beirflow.audit.folder.reading import check_unpacked, part, read_whole
from beirflow.audit.repairs import Call
from beirflow.config.experiment import TUNED_ON
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS, PAGE_RECORDS, REPRESENTATIONS, is_one_of
from beirflow.core.layout import MANIFEST, METRICS, RUN, SUMMARY
from beirflow.core.patterns import is_safe
from beirflow.core.records import SHA256

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
    def listing(self) -> Listing:
        """Return the content of the folder."""
        return list_folder(self.folder)

    @property
    def corpora(self) -> dict[str, Mapping[str, Any]]:
        """By name, the corpora that the manifest names: fields of :class:`~beirflow.data.catalogue.dataset.Dataset`."""
        rows = {**self.manifest.get(TUNED_ON, {}), **part(self.manifest, "datasets", kind=dict)}
        return {corpus["name"]: corpus for corpora in rows.values() for corpus in corpora}

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
        places = dict.fromkeys((self.listing.oddity(path) or (path,))[0] for path in paths)
        present = [path for path in places if path in self.listing.files or path in self.listing.odd]
        return self.call.make_again(self.folder, present, [*paths, goal])

    def aside(self, paths: Collection[str]) -> str:
        """Return the command that moves files away, whole folders where these hold nothing else."""
        return self.call.aside(self.folder, self.listing.folded(paths))

    def affected(self, path: str, results: Iterable[Result] | None = None) -> tuple[Result, ...]:
        """Return the systems and datasets that depend on a file, unless ``results`` are known to."""
        return unique(self.results.get(path, ()) if results is None else results)

    def failed(self, name: str, path: str, found: str, expected: str, results: Iterable[Result] | None = None) -> Check:
        """Return a failed check of a file, with the command that rebuilds it; ``results`` are those that depend on it if None."""
        return Check(name, FAILED, found, expected, (path,), self.affected(path, results), self.repair_command(path))

    def unreadable(
        self, name: str, path: str, error: Exception, results: Iterable[Result] | None = None, repair: str | None = None
    ) -> Check:
        """Return the check of an unreadable file: the file that the error names, unless a repair of ``path`` is given.

        It is failed, but "not checked" for a missing file, which is a failure of its own elsewhere.
        """
        cause = path if repair is not None else str(getattr(error, "path", None) or path)
        affected = self.affected(path, results)
        repair = "" if isinstance(error, FormatError) else repair or self.repair_command(cause)
        if isinstance(error, FileNotFoundError):
            return Check(name, NOT_CHECKED, f"{cause}: {error.filename} is missing", "", (cause,), affected, repair)
        if isinstance(error, OSError) and error.errno in FULL:
            found = f"{cause}: the disk of {tempfile.gettempdir()}, where files are rebuilt, is full; set TMPDIR to another"
            return Check(name, NOT_CHECKED, found, "", (cause,), affected)
        return Check(name, FAILED, f"{cause}: {in_words(error)}", "what beirflow writes", (cause,), affected, repair)

    def guarded(self, name: str, path: str, check: Callable[[], Iterable[Check] | None]) -> list[Check]:
        """Collect the checks of a file, if any; add :meth:`unreadable` if it cannot be read."""
        checks: list[Check] = []
        try:
            checks.extend(check() or ())
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
            if path not in self.records:
                self.records[path] = None  # as long as it was not read
                self.records[path] = self.read_whole(path)
            record = self.records[path] or {"outputs": {}, "inputs": {}}
            for key in ("outputs", "inputs"):
                for name, digest in part(record, key, kind=dict).items():
                    self._claim(name, digest, path, result)
            for name in record["inputs"]:
                if name.endswith(".json"):
                    self._visit(name, result)
        except FileNotFoundError:  # noted where digests are compared
            return
        except UNREADABLE as error:
            check = self.unreadable("records can be read", path, error, self.results.get(path, set()) | {result})
            if check not in self.problems:
                self.problems.append(check)

    def visit_page(self, path: str) -> Iterator[Check]:
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
        yield Check(EARLIER, WARNING, found, "", tuple(self.earlier), (), self.repair_command(goal=PAGE_RECORDS[path]))

    def read_whole(self, path: str) -> dict[str, Any]:
        """Read a record as it was written; RecordError for anything else (:func:`~.folder.reading.read_whole`)."""
        return read_whole(self.file(path), path)


def check_digests(chain: Chain) -> Iterator[Check]:
    """Follow the chain, and compare every file with every record that names it."""
    chain.follow()
    for path in (path for path in PAGE_RECORDS if path in chain.listing.files):
        chain.problems += chain.guarded("records can be read", path, partial(chain.visit_page, path))
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
                check = partial(check_unpacked, chain.folder / path, path)
                yield from chain.guarded("files are read alike by all readers", path, check)
    yield from _absent(chain, absent)
    yield Check(name, PASSED, f"{good} files, {size:,} bytes, have the digests that every record of them names")


def _absent(chain: Chain, paths: list[str]) -> Iterator[Check]:
    """Report missing files: representations may have been deleted, all others fail."""
    deleted, missing = list[str](), list[str]()
    for path in paths:
        if odd := chain.guarded("results are plain files", path, partial(chain.refuse_odd, path)):
            yield from odd
        else:
            (deleted if path.startswith(REPRESENTATIONS) else missing).append(path)
    for path in missing[:SHOWN]:
        by = next(iter(chain.claims[path].values()))
        yield chain.failed("no file is missing", path, f"{path} is missing", f"{by} names it")
    if more := missing[SHOWN:]:
        yield Check("no file is missing", FAILED, f"{len(more):,} further files are missing, e.g. {more[0]}", "", tuple(more))
    if deleted:
        is_configured = chain.manifest["configuration"].get("keep_representations") is False
        is_configured &= all(is_one_of(path, CHUNKS_OF_REPRESENTATIONS) for path in deleted)
        why = "by keep_representations: false" if is_configured else "perhaps to save disk"
        found = f"{len(deleted)} files were deleted, {why}, and not compared, e.g. {deleted[0]}"
        results = unique(result for path in deleted for result in chain.results[path])
        repair = "" if is_configured else chain.repair_command(*deleted[:SHOWN])
        yield Check(REPRESENTED, NOT_CHECKED, found, "", tuple(deleted[:SHOWN]), results, repair)
