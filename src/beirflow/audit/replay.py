"""Comparison of the files for reading with the results: the quick ones are made again; no number depends on them.

They are made in a folder of their own, in which links lead to the results.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.audit.differences import OF_THE_JOB, UnsourcedError, difference
from beirflow.audit.again.rebuilds import Rebuilds, rebuilds, stated_keys
from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, SHOWN, UNREADABLE, WARNING, Check
from beirflow.audit.reading import columns_of, part, read_record
from beirflow.core import kinds, layout, patterns
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError
from beirflow.core.extensions import Page, extensions
from beirflow.core.layout import MANIFEST, REPORT, REPORT_RECORD, SYSTEMS
from beirflow.core.records import RECORD_DIGEST
from beirflow.run.provenance import code_state

NAME = "files for reading show the results"

FORMS = (".html", ".tex", ".md", ".bib", ".gz")
OF_A_FORM = (SYSTEMS, *(inventory.path for inventory in kinds.INVENTORIES), *kinds.COPIES)
"""Endings of files, and paths of these or their folders, whose form, not only their numbers, is that of the code."""

EARLIER = "files for reading are of these results"  # name of the check that earlier ones are not

PAGES: Mapping[str, Page] = {record: page for extension in extensions() for record, page in extension.pages.items()}
"""Pages of extensions by their records."""

RECORDS = {REPORT_RECORD: REPORT, **{record: page.path for record, page in PAGES.items()}}
"""Records of files for reading, and the page that each was written with."""


def check_files_for_reading(chain: Chain) -> list[Check]:
    """Compare the files for reading with the records of pages, and with what the results give.

    Files of earlier results, unchanged since their record was written, are not compared with these results.
    """
    own = (layout.AUDIT, layout.AUDIT_RECORD, *RECORDS)
    paths = [path for path in sorted(chain.listing.files) if kinds.is_for_reading(path) and path not in own]
    pages = [_read_page(chain, record, page) for record, page in RECORDS.items() if record in chain.listing.files]
    earlier = {path for page in pages for path in page.earlier}
    made = list(_rebuilt(chain, [path for path in paths if path not in earlier], earlier))
    same = {path for check in made if check.status == PASSED for path in check.files}
    # A page of earlier results may have been followed by new tables, which its record cannot know.
    checks = [
        check for page in pages for check in (*page.checks, *(each for path, each in page.changed.items() if path not in same))
    ]
    checks += made
    recorded = {path for page in pages for path in page.recorded}
    compared = {path for check in made if check.status != NOT_CHECKED for path in check.files}
    # An inventory that was made again has their digests.
    named = tuple(f"{inventory.copies}/" for inventory in kinds.INVENTORIES if inventory.path in compared)
    others = tuple(path for path in paths if path not in compared and path not in recorded and not path.startswith(named))
    if others:
        some = ", ".join(others[:3]) + " and others" * (len(others) > 3)
        problem = f"{len(others)} files for reading, which no number depends on, were not compared with anything: {some}"
        checks.append(
            Check("files for reading", NOT_CHECKED, problem, "", others[:SHOWN], (), chain.repairs.aside(others[:SHOWN]))
        )
    figures = [path for path in paths if path in recorded and path not in compared and path not in earlier]
    if figures:
        problem = f"{len(figures)} files, figures among them, were compared with {' or '.join(RECORDS)} and not made again"
        checks.append(Check("files for reading", NOT_CHECKED, problem, "", tuple(figures)))
    return checks


class ComparedPage(NamedTuple):
    """The files that the record of a page names, compared with their digests."""

    checks: list[Check]  # what was found
    recorded: Mapping[str, Any] = {}  # digests by path
    earlier: Sequence[str] = ()  # unchanged files of earlier results
    changed: Mapping[str, Check] = {}  # failed checks of files, by path


def _read_page(chain: Chain, record_path: str, page: str) -> ComparedPage:
    """Compare the files with what was recorded when a page was written."""
    name, unchanged, changed = "files for reading are as they were written", list[str](), dict[str, Check]()
    again = chain.repair_command(record_path, goal=page)
    try:
        record = chain.read_whole(record_path)
        chain.note_form(record_path)
        facts = PAGES[record_path].facts() if record_path in PAGES else {}
        stated = {**part(chain.manifest, "configuration", kind=dict), **facts}
        for key in (key for key in record.keys() & stated.keys() if record[key] == stated[key]):
            chain.note(record_path, key, record[key], f"{MANIFEST} or the catalogue here")
        recorded = part(record, "outputs", kind=dict)
        is_current = part(record, "inputs", MANIFEST) == file_digest(chain.file(MANIFEST))
    except UNREADABLE as error:
        return ComparedPage([chain.unreadable(name, record_path, error, (), repair=again)])
    missing = []
    for path, expected in recorded.items():
        todo = chain.repair_command(path, goal=page) if patterns.is_safe(path) else again
        if path not in chain.listing.files:
            problem = f"{path} is not here; no number depends on it"
            missing.append(Check(name, WARNING, problem, f"{record_path} names it", (path,), (), todo))
        elif (digest := file_digest(chain.folder / path)) != expected:
            problem = f"{path} has the sha256 {digest}; no number depends on it"
            changed[path] = Check(name, FAILED, problem, f"{record_path} says {expected}", (path,), (), todo)
        else:
            unchanged.append(path)
    if not is_current:
        problem = f"{len(unchanged)} files are of an earlier configuration, as {record_path} says: they do not show these results"
        todo = chain.repairs.make_again([], [page])
        return ComparedPage(
            [Check(EARLIER, WARNING, problem, "", (record_path, *unchanged), (), todo)], recorded, unchanged, changed
        )
    found = f"{len(unchanged)} files have the digests that {record_path} names"
    return ComparedPage([*missing, *([Check(name, PASSED, found)] if unchanged else [])], recorded, (), changed)


def _rebuilt(chain: Chain, paths: list[str], left_out: Collection[str] = ()) -> Iterator[Check]:
    """Make files again, from none of those left out, and compare each with the audited one; the rules are read once."""
    if not paths:
        return
    try:
        with rebuilds(chain, left_out) as rules:
            for path in paths:
                yield from _check_file(chain, rules, path)
    except UNREADABLE as error:
        problem = f"files for reading could not be made again: {type(error).__name__}: {str(error)[:200]}"
        yield Check(NAME, NOT_CHECKED, problem, "", tuple(paths[:SHOWN]))


def _check_file(chain: Chain, rules: Rebuilds, path: str) -> Iterator[Check]:
    """Make a file again and compare; nothing for one that takes long or needs what is not here."""
    repair = chain.repair_command(path, goal=path)
    try:
        rebuilt = rules.rebuild(path)
        if rebuilt is None:
            return
        made, code = rebuilt
        problem = _difference(chain, path, made)
        _note_facts(chain, path)
        if path.endswith(".json") and not problem:
            _note_record(chain, path, made, code)
    except BeirflowError as error:
        if isinstance(error, UnsourcedError):
            _note_facts(chain, path, [*error.columns, *error.added])
        yield Check(NAME, NOT_CHECKED, f"{path} could not be made again from these results: {error}", "", (path,))
    except UNREADABLE as error:
        yield chain.unreadable(NAME, path, error, (), repair=repair)
    else:
        yield _verdict(chain, path, problem, code, repair)


def _difference(chain: Chain, path: str, made: Path) -> str:
    """Return the difference between a file and the same file made again; UnsourcedError if nothing confirms some columns.

    Among these are keys of the configuration that the costs state if they are not those of the manifest, which may be older.
    """
    problem, unsourced, added = "", list[str](), list[str]()
    try:
        problem = difference(path, chain.file(path), made)
    except UnsourcedError as error:
        unsourced, added = error.columns, error.added
    if path == layout.COST:
        configured = part(chain.manifest, "configuration")
        unsourced += [key for key, value in stated_keys(chain).items() if value not in (None, configured.get(key))]
    if (unsourced or added) and not problem:
        raise UnsourcedError(unsourced, added)
    return problem


def _note_facts(chain: Chain, path: str, but: Sequence[str] = ()) -> None:
    """Remember that the columns of a table were compared with those of the same table made again."""
    for column in columns_of(chain.file(path)):
        if column not in but:
            chain.note(path, column, None, f"{path} made again")


def _note_record(chain: Chain, path: str, made: Path, code: str) -> None:
    """Remember the same of the facts of a record; raise RecordError unless it has its form."""
    if RECORD_DIGEST in read_record(made):
        record = chain.read_whole(path)
        chain.note_form(path)
        for key in record.keys() - OF_THE_JOB:
            chain.note(path, key, None, f"{path} made again")
        if record.get("code") == code:
            chain.note(path, "code", None, "the code here")


def _verdict(chain: Chain, path: str, problem: str, code: str, repair: str) -> Check:
    """Return the verdict on a file that differs, or does not; the code here is ``code``."""
    if not problem:
        return Check(NAME, PASSED, f"{path} is what the results give", files=(path,))
    said, here = _codes(chain, path, code)
    if (path.endswith(FORMS) or path.startswith(OF_A_FORM)) and said not in ("", here):
        found = (
            f"{path} is not what this beirflow writes: {problem}; it says that other code wrote it, {said}, so nobody knows "
            f"who is right; the code here is {here}"
        )
        return Check(NAME, WARNING, found, "", (path,), (), repair)
    if _made_with_other_facts(chain, path):
        found = f"{path}: {problem}; it was made with another catalogue than the one here"
        return Check(NAME, WARNING, found, "", (path,), (), repair)
    return Check(NAME, FAILED, f"{path}: {problem}", "what the results give", (path,), (), repair)


def _codes(chain: Chain, path: str, code: str) -> tuple[str, str]:
    """Return the code that wrote a file, by the page's record or the results' manifest, and the code here."""
    if record := next((record for record, page in RECORDS.items() if page == path), None):
        try:
            return str(read_record(chain.file(record)).get("code")), code
        except UNREADABLE:
            return "which no record names", code
    said, here = chain.manifest["repository"].get("commit"), code_state()["commit"]
    if said or here:
        return f"commit {said}", f"commit {here}"
    return str(chain.manifest.get("code")), str(chain.call.codes.get("summarize"))  # neither is a checkout, as in a container


def _made_with_other_facts(chain: Chain, path: str) -> bool:
    """Test whether the page of a file's extension says that files of the extension were others than here."""
    of_path = (each for each in extensions() if any(pattern.names_in(path) is not None for pattern in each.patterns))
    for record, page in (entry for extension in of_path for entry in extension.pages.items()):
        with suppress(*UNREADABLE):
            said = read_record(chain.file(record))
            if any(said.get(key) != value for key, value in page.facts().items()):
                return True
    return False
