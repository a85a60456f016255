"""Do the files for reading show the results? What is quickly made is made again and compared; no number depends on any of them.

They are made in a folder of their own, in which links lead to the results.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.analysis.inspection import inspect_dataset
from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, unreadable
from beirflow.audit.made_again import other_page, other_record, other_scores, other_table
from beirflow.audit.mteb_again import MtebAgain
from beirflow.audit.paper_again import LINKS, PaperAgain, Step
from beirflow.audit.reading import part, read_record
from beirflow.evaluation.cost import collect_costs
from beirflow.evaluation.scores import collect_scores
from beirflow.evaluation.significance import compare_systems
from beirflow.files import layout
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import (
    COST,
    INSPECTION,
    MANIFEST,
    METRICS,
    PER_QUERY,
    REPORT,
    REPORT_RECORD,
    SCORES,
    SIGNIFICANCE,
    SUMMARY,
    SYSTEMS,
)
from beirflow.files.records import Job
from beirflow.jobs.code_version import code_version
from beirflow.paper.facts import facts_digests
from beirflow.report.figure_tables import TABLES, write_figure_tables
from beirflow.report.named_tables import read_named_csv
from beirflow.report.report import FIGURES, write_report

NAME = "files for reading show the results"

RECORDS = {REPORT_RECORD: REPORT, layout.PAPER_RECORD: layout.PAPER}
"""Records of files for reading, and the page that each was written with."""


def check_files_for_reading(chain: Chain) -> list[Check]:
    """Compare the files for reading with the record of the report, and with what the results give.

    Args:
        chain: What records say.

    Returns:
        Checks of the record, of every file that was made again, and of what was not compared.
    """
    paths = [path for path in sorted(chain.listing.files) if layout.is_for_reading(path)]
    own = (layout.AUDIT, layout.AUDIT_RECORD, layout.COMPARISON, layout.COMPARISON_RECORD, *RECORDS)
    paths = [path for path in paths if path not in own]
    recorded, checks = dict[str, Any](), list[Check]()
    for record, page in RECORDS.items():
        if record in chain.listing.files:
            named, found_there = _check_record(chain, record, page)
            recorded |= named
            checks += found_there
    with tempfile.TemporaryDirectory(prefix="beirflow-audit-") as scratch:
        again = _Again(chain, Path(scratch))
        made = [check for path in paths for check in again.check(path)]
    checks += made
    compared = {path for check in made if check.status != NOT_CHECKED for path in check.files}
    if others := tuple(path for path in paths if path not in compared and path not in recorded):
        found = f"{len(others)} files for reading, which no number depends on, were not compared with anything"
        checks.append(Check("files for reading", NOT_CHECKED, found, "", others[:1000], (), chain.aside(*others[:1000])))
    figures = [path for path in paths if path in recorded and path not in compared]
    if figures:
        found = f"{len(figures)} files, figures among them, were compared with {' or '.join(RECORDS)} and not made again"
        checks.append(Check("files for reading", NOT_CHECKED, found, "", tuple(figures)))
    return checks


def _check_record(chain: Chain, record_path: str, page: str) -> tuple[dict[str, Any], list[Check]]:
    """Compare the files with what was recorded when a page was written."""
    name, checks, recorded = "files for reading are as they were written", list[Check](), dict[str, Any]()
    again = chain.repair_command(record_path, goal=page)
    try:
        record = chain.read_whole(record_path)
        recorded = dict(part(record, "outputs", kind=dict))
        if part(record, "inputs", MANIFEST) != file_digest(chain.file(MANIFEST)):
            found = f"{page} was made from other results than these"
            checks.append(Check(f"{page} is of these results", WARNING, found, "", (record_path,), (), again))
    except UNREADABLE as error:
        return recorded, [unreadable(name, record_path, error, (), again)]
    good = 0
    for path, expected in recorded.items():
        todo = chain.repair_command(path, goal=page) if layout.is_safe(path) else again
        if path not in chain.listing.files:
            found = f"{path} is not here; no number depends on it"
            checks.append(Check(name, WARNING, found, f"{record_path} names it", (path,), (), todo))
        elif (digest := file_digest(chain.folder / path)) != expected:
            found = f"{path} has the sha256 {digest}; no number depends on it"
            checks.append(Check(name, FAILED, found, f"{record_path} says {expected}", (path,), (), todo))
        else:
            good += 1
    return recorded, [
        *checks,
        *([Check(name, PASSED, f"{good} files have the digests that {record_path} names")] if good else []),
    ]


@dataclass
class _Again:
    """Makes files for reading again.

    Attributes:
        chain: What records say.
        scratch: An empty folder.
        systems: Names of the systems.
        rows: By dataset its corpora.
    """

    chain: Chain
    scratch: Path
    systems: list[str] = field(init=False)
    rows: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        chosen = part(self.chain.manifest, "configuration", "systems", kind=list)  # those that only others need have no row
        self.systems = [name for name in self.chain.manifest["systems"] if name in chosen]
        self.rows = {row: [corpus["name"] for corpus in corpora] for row, corpora in self.chain.manifest["datasets"].items()}

    def check(self, path: str) -> Iterator[Check]:
        """Make a file again and compare; nothing for one that takes long or needs what is not here."""
        of_paper, of_mteb = self._paper.steps(path), self._mteb.step(path)
        step = of_paper or of_mteb or self._step(path)
        if step is None:
            return
        make, compare = step
        repair = self.chain.repair_command(path, goal=layout.PAPER if of_paper else path if of_mteb else REPORT)
        try:
            for link in ("corpora", "runs", "metrics", "benchmarks", "energy"):
                self._link(link)
            if of_paper:
                self._link_in(self._paper.source, LINKS)
            if of_mteb:
                self._link_in(self._mteb.source, ("corpora", "metrics", "mteb"))
            make()
            problem = compare(self.chain.file(path), (self._paper.target if of_paper else self.scratch) / path)
        except BeirflowError as error:
            yield Check(NAME, NOT_CHECKED, f"{path} could not be made again from these results: {error}", "", (path,))
        except UNREADABLE as error:
            yield unreadable(NAME, path, error, (), repair)
        else:
            yield self._verdict(path, problem, repair)

    def _step(self, path: str) -> Step | None:
        """How to make a file again, and how to compare it."""
        dataset = INSPECTION.names_in(path)
        if dataset:
            return partial(self._inspection, dataset["dataset"]), other_record
        figure = layout.FIGURE_DATA.names_in(path)
        if figure and figure["figure"] in TABLES:
            return self._figure_tables, other_table
        made: dict[str, Step] = {
            SCORES: (self._scores, other_scores),
            SIGNIFICANCE: (self._significance, other_table),
            COST: (self._costs, other_table),
            REPORT: (self._report, other_page),
        }
        return made.get(path)

    def _verdict(self, path: str, problem: str, repair: str) -> Check:
        """What it means that a file differs, or does not."""
        if not problem:
            return Check(NAME, PASSED, f"{path} is what the results give", files=(path,))
        if path == REPORT and not self._same_code():
            found = f"{path} is not what this beirflow writes: {problem}; other code wrote it, so it is not known who is right"
            return Check(NAME, WARNING, found, "", (path,), (), repair)
        if layout.PAPER_TABLE.names_in(path) and not self._same_facts():
            found = f"{path}: {problem}; it was made with another catalogue than the one here"
            return Check(NAME, WARNING, found, "", (path,), (), repair)
        return Check(NAME, FAILED, f"{path}: {problem}", "what the results give", (path,), (), repair)

    def _same_code(self) -> bool:
        """Whether the code here wrote the report."""
        try:
            return bool(read_record(self.chain.file(REPORT_RECORD)).get("code") in ("", code_version("write_report")))
        except UNREADABLE:
            return False

    def _same_facts(self) -> bool:
        """Whether what the paper prints is here what it was when its page was written."""
        try:
            return bool(read_record(self.chain.file(layout.PAPER_RECORD)).get("printed") == facts_digests())
        except UNREADABLE:
            return True

    @property
    def _paper(self) -> PaperAgain:
        """Makes tables of the paper again."""
        baseline = part(self.chain.manifest, "configuration", "baseline") or self.systems[0]
        return PaperAgain(self.scratch / "paper-source", self.scratch / "paper-made", self.systems, self.rows, baseline)

    @property
    def _mteb(self) -> MtebAgain:
        """Makes results in the forms of MTEB again."""
        return MtebAgain(self.scratch / "mteb-source", self.scratch, self.rows)

    def _link_in(self, source: Path, names: Sequence[str]) -> None:
        """Let links in a folder of their own lead to what files are made from, some of which is made again elsewhere."""
        links = _Again(self.chain, source)
        links.scratch.mkdir(exist_ok=True)
        for name in names:
            links._link(name)

    def _link(self, name: str) -> None:
        """Let a name in the scratch folder lead to the results, where nothing below it is a link itself."""
        if any(path == name or path.startswith(f"{name}/") for path in self.chain.listing.odd):
            raise BeirflowError(f"{name} holds what is no plain file")
        if not (self.scratch / name).is_symlink():
            (self.scratch / name).symlink_to((self.chain.folder / name).resolve())

    def _paths(self, pattern: layout.Pattern) -> list[str]:
        pairs = [(system, name) for system in self.systems for names in self.rows.values() for name in names]
        return [f"{self.scratch}/{pattern(system=system, dataset=name)}" for system, name in pairs]

    def _scores(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "per_query_paths": self._paths(PER_QUERY)}
        collect_scores(**paths, scores_path=f"{self.scratch}/{SCORES}", job=Job(self.scratch))

    def _significance(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "per_query_paths": self._paths(PER_QUERY)}
        compare_systems(**paths, rows=self.rows, comparison_path=f"{self.scratch}/{SIGNIFICANCE}")

    def _costs(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "record_paths": self._paths(layout.RUN_RECORD)}
        said = read_named_csv(str(self.chain.file(COST)))["carbon_intensity"].dropna().tolist()[:1]
        intensity = float(said[0]) if said else None  # that of the configuration may have changed since the manifest was written
        costs_path = f"{self.scratch}/{COST}"
        collect_costs(**paths, rows=self.rows, costs_path=costs_path, job=Job(self.scratch), carbon_intensity=intensity)

    def _figure_tables(self) -> None:
        folder = self.scratch / "figures"
        folder.mkdir(exist_ok=True)
        rows = [f"{self.scratch}/{path}" for path in self.chain.means]
        write_figure_tables(means_paths=rows, costs_path=str(self.chain.file(COST)), folder=str(folder))

    def _inspection(self, dataset: str) -> None:
        corpus = {"documents": layout.DOCUMENTS, "queries": layout.QUERIES, "qrels": layout.QRELS, "corpus": layout.CORPUS}
        systems = {"run": layout.RUN, "means": METRICS, "per_query": PER_QUERY}
        paths: dict[str, Any] = {
            **{f"{key}_path": f"{self.scratch}/{pattern(dataset=dataset)}" for key, pattern in corpus.items()},
            **{
                f"{key}_paths": [f"{self.scratch}/{pattern(system=system, dataset=dataset)}" for system in self.systems]
                for key, pattern in systems.items()
            },
        }
        output_path = f"{self.scratch}/{INSPECTION(dataset=dataset)}"
        inspect_dataset(dataset=dataset, **paths, output_path=output_path, job=Job(self.scratch))

    def _report(self) -> None:
        """The page, from the files for reading as they are: each of them is compared by itself."""
        page = _Again(self.chain, self.scratch / "page")
        page.scratch.mkdir()
        for name in ("metrics", "figures", "inspection", SUMMARY, MANIFEST, SIGNIFICANCE, COST, SYSTEMS):
            page._link(name)
        rows = [f"{page.scratch}/{path}" for path in self.chain.means]
        names = [name for names in self.rows.values() for name in names]
        write_report(
            summary_path=f"{page.scratch}/{SUMMARY}",
            means_paths=[*rows, *page._paths(METRICS)],
            inspection_paths=[f"{page.scratch}/{INSPECTION(dataset=name)}" for name in names],
            comparison_path=f"{page.scratch}/{SIGNIFICANCE}",
            costs_path=f"{page.scratch}/{COST}",
            systems_path=f"{page.scratch}/{SYSTEMS}",
            figure_paths=[f"{page.scratch}/{layout.FIGURE_SVG(figure=name)}" for name in FIGURES],
            manifest_path=f"{page.scratch}/{MANIFEST}",
            report_path=f"{page.scratch}/{REPORT}",
            baseline=part(self.chain.manifest, "configuration", "baseline") or self.systems[0],
            job=Job(page.scratch),
        )
        (page.scratch / REPORT).rename(self.scratch / REPORT)
