"""Do the files for reading show the results? The quick ones are made again and compared; no number depends on them.

They are made in a folder of their own, in which links lead to the results.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, unreadable
from beirflow.audit.digests.reading import part, read_record
from beirflow.audit.rebuild.made_again import link_results
from beirflow.audit.rebuild.mteb_again import MtebAgain
from beirflow.audit.rebuild.paper_again import LINKS, PaperAgain, Step
from beirflow.audit.rebuild.report_again import LINKS as REPORT_LINKS
from beirflow.audit.rebuild.report_again import ReportAgain
from beirflow.audit.rebuild.tables_again import LINKS as TABLE_LINKS
from beirflow.audit.rebuild.tables_again import OF_THE_TABLES, TablesAgain
from beirflow.files import layout
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import MANIFEST, REPORT, REPORT_RECORD, SYSTEMS
from beirflow.jobs.code_version import code_version
from beirflow.jobs.provenance import code_state
from beirflow.paper.facts import facts_digests

NAME = "files for reading show the results"

CRATES = (layout.CRATE, layout.CRATE_README, layout.CRATE_CONFIGURATION)

Exports = Callable[[Chain, Path], Callable[[str], Step | None]]
"""Makes exported files again, in a folder; by path, how, and how they are compared."""

RECORDS = {REPORT_RECORD: REPORT, layout.PAPER_RECORD: layout.PAPER}
"""Records of files for reading, and the page that each was written with."""


def check_files_for_reading(chain: Chain, exports: Exports | None = None) -> list[Check]:
    """Compare the files for reading with the record of the report, and with what the results give.

    Args:
        chain: What records say.
        exports: Makes again what is exported for other tools, which the rooms behind this one do; not made again if None.

    Returns:
        Checks of the record, of every file that was made again, and of what was not compared.
    """
    paths = [path for path in sorted(chain.listing.files) if layout.is_for_reading(path)]
    own = (layout.AUDIT, layout.AUDIT_RECORD, *RECORDS)
    paths = [path for path in paths if path not in own]
    recorded, checks = dict[str, Any](), list[Check]()
    for record, page in RECORDS.items():
        if record in chain.listing.files:
            named, found_there = _check_record(chain, record, page)
            recorded |= named
            checks += found_there
    with tempfile.TemporaryDirectory(prefix="beirflow-audit-") as scratch:
        again = _Rebuilds(chain, Path(scratch), exports and exports(chain, Path(scratch)))
        made = [check for path in paths for check in again.check(path)]
    checks += made
    compared = {path for check in made if check.status != NOT_CHECKED for path in check.files}
    if others := tuple(path for path in paths if path not in compared and path not in recorded):
        problem = f"{len(others)} files for reading, which no number depends on, were not compared with anything"
        checks.append(Check("files for reading", NOT_CHECKED, problem, "", others[:1000], (), chain.aside(*others[:1000])))
    figures = [path for path in paths if path in recorded and path not in compared]
    if figures:
        problem = f"{len(figures)} files, figures among them, were compared with {' or '.join(RECORDS)} and not made again"
        checks.append(Check("files for reading", NOT_CHECKED, problem, "", tuple(figures)))
    return checks


def _check_record(chain: Chain, record_path: str, page: str) -> tuple[dict[str, Any], list[Check]]:
    """Compare the files with what was recorded when a page was written."""
    name, checks, recorded = "files for reading are as they were written", list[Check](), dict[str, Any]()
    again = chain.repair_command(record_path, goal=page)
    try:
        record = chain.read_whole(record_path)
        recorded = dict(part(record, "outputs", kind=dict))
        if part(record, "inputs", MANIFEST) != file_digest(chain.file(MANIFEST)):
            problem = f"{page} was made from other results than these"
            checks.append(Check(f"{page} is of these results", WARNING, problem, "", (record_path,), (), again))
    except UNREADABLE as error:
        return recorded, [unreadable(name, record_path, error, (), again)]
    good = 0
    for path, expected in recorded.items():
        todo = chain.repair_command(path, goal=page) if layout.is_safe(path) else again
        if path not in chain.listing.files:
            problem = f"{path} is not here; no number depends on it"
            checks.append(Check(name, WARNING, problem, f"{record_path} names it", (path,), (), todo))
        elif (digest := file_digest(chain.folder / path)) != expected:
            problem = f"{path} has the sha256 {digest}; no number depends on it"
            checks.append(Check(name, FAILED, problem, f"{record_path} says {expected}", (path,), (), todo))
        else:
            good += 1
    return recorded, [
        *checks,
        *([Check(name, PASSED, f"{good} files have the digests that {record_path} names")] if good else []),
    ]


def _has_form(path: str) -> bool:
    """Test whether the form of a file, not only its numbers, is that of the code."""
    kinds = (layout.TABLE_TEX, layout.TABLE_MD, layout.OPEN_RUN)
    return path in (*RECORDS.values(), SYSTEMS, layout.CITATIONS(), *CRATES) or any(kind.names_in(path) for kind in kinds)


@dataclass
class _Rebuilds:
    """Makes files for reading again.

    Attributes:
        chain: What records say.
        scratch: An empty folder.
        exported: How to make again what is exported.
        systems: Names of the systems.
        rows: By dataset its corpora.
    """

    chain: Chain
    scratch: Path
    exported: Callable[[str], Step | None] | None = None
    systems: list[str] = field(init=False)
    rows: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        chosen = part(self.chain.manifest, "configuration", "systems", kind=list)  # those that only others need have no row
        self.systems = [name for name in self.chain.manifest["systems"] if name in chosen]
        self.rows = {row: [corpus["name"] for corpus in corpora] for row, corpora in self.chain.manifest["datasets"].items()}

    def check(self, path: str) -> Iterator[Check]:
        """Make a file again and compare; nothing for one that takes long or needs what is not here."""
        of_paper, of_mteb, of_tables = self._paper.steps(path), self._mteb.step(path), self._tables.step(path)
        exported = self.exported(path) if self.exported else None
        step = of_paper or of_mteb or of_tables or exported or self._report.step(path)
        if step is None:
            return
        make, compare = step
        repair = self.chain.repair_command(path, goal=layout.PAPER if of_paper else path if of_mteb or exported else REPORT)
        try:
            link_results(self.chain, self.scratch, REPORT_LINKS)
            if of_paper:
                link_results(self.chain, self._paper.source, LINKS)
            if of_mteb:
                link_results(self.chain, self._mteb.source, ("corpora", "metrics", "mteb"))
            if of_tables:
                link_results(self.chain, self._tables.source, (*TABLE_LINKS, *OF_THE_TABLES))
            make()
            problem = compare(self.chain.file(path), (self._paper.target if of_paper else self.scratch) / path)
        except BeirflowError as error:
            yield Check(NAME, NOT_CHECKED, f"{path} could not be made again from these results: {error}", "", (path,))
        except UNREADABLE as error:
            yield unreadable(NAME, path, error, (), repair)
        else:
            yield self._verdict(path, problem, repair)

    def _verdict(self, path: str, problem: str, repair: str) -> Check:
        """Return the verdict on a file that differs, or does not."""
        if not problem:
            return Check(NAME, PASSED, f"{path} is what the results give", files=(path,))
        said, here = self._codes(path)
        if _has_form(path) and said not in ("", here):
            found = (
                f"{path} is not what this beirflow writes: {problem}; it says that other code wrote it, {said}, so nobody knows "
                f"who is right; the code here is {here}"
            )
            return Check(NAME, WARNING, found, "", (path,), (), repair)
        if layout.PAPER_TABLE.names_in(path) and not self._same_facts():
            found = f"{path}: {problem}; it was made with another catalogue than the one here"
            return Check(NAME, WARNING, found, "", (path,), (), repair)
        return Check(NAME, FAILED, f"{path}: {problem}", "what the results give", (path,), (), repair)

    def _codes(self, path: str) -> tuple[str, str]:
        """Return the code that wrote a file, by the page's record or the results' manifest, and the code here."""
        if path not in RECORDS.values():
            said, here = self.chain.manifest["repository"].get("commit"), code_state()["commit"]
            if said or here:
                return f"commit {said}", f"commit {here}"
            return str(self.chain.manifest.get("code")), code_version("summarize")  # neither is a checkout, as in a container
        record, rule = (REPORT_RECORD, "write_report") if path == REPORT else (layout.PAPER_RECORD, "write_paper")
        try:
            return str(read_record(self.chain.file(record)).get("code")), code_version(rule)
        except UNREADABLE:
            return "which no record names", code_version(rule)

    def _same_facts(self) -> bool:
        """Test whether the facts that the paper prints are here those of its page."""
        try:
            return bool(read_record(self.chain.file(layout.PAPER_RECORD)).get("printed") == facts_digests())
        except UNREADABLE:
            return True

    @property
    def _report(self) -> ReportAgain:
        """Makes the report again."""
        return ReportAgain(self.chain, self.scratch, self.systems, self.rows, self._baseline)

    @property
    def _paper(self) -> PaperAgain:
        """Makes tables of the paper again."""
        return PaperAgain(self.scratch / "paper-source", self.scratch / "paper-made", self.systems, self.rows, self._baseline)

    @property
    def _tables(self) -> TablesAgain:
        """Makes the tables of systems and for papers again."""
        recorded = {name: self.chain.manifest["systems"][name] for name in self.systems}
        systems = {name: {"family": each["family"], **each["settings"]} for name, each in recorded.items()}
        return TablesAgain(self.scratch / "tables-source", self.scratch, systems, self.rows, self.chain.records, self._baseline)

    @property
    def _baseline(self) -> str:
        return str(part(self.chain.manifest, "configuration", "baseline") or self.systems[0])

    @property
    def _mteb(self) -> MtebAgain:
        """Makes results in the forms of MTEB again."""
        return MtebAgain(self.scratch / "mteb-source", self.scratch, self.rows)
