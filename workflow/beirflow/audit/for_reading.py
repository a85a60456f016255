"""Do the files for reading show the results? What is quickly made is made again and compared; no number depends on any of them.

They are made in a folder of their own, in which links lead to the results.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.analysis.inspection import inspect_dataset
from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, unreadable
from beirflow.audit.made_again import other_page, other_record, other_scores, other_table
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
from beirflow.report.report import FIGURES, write_report


def check_files_for_reading(chain: Chain) -> list[Check]:
    """Compare the files for reading with the record of the report, and with what the results give.

    Args:
        chain: What records say.

    Returns:
        Checks of the record, of every file that was made again, and of what was not compared.
    """
    paths = [path for path in sorted(chain.listing.files) if layout.is_for_reading(path)]
    own = (layout.AUDIT, layout.AUDIT_RECORD, layout.COMPARISON, layout.COMPARISON_RECORD, REPORT_RECORD)
    paths = [path for path in paths if path not in own]
    recorded, checks = _check_record(chain, [*paths, *([REPORT_RECORD] if REPORT_RECORD in chain.listing.files else [])])
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
        found = f"{len(figures)} files, figures among them, were compared with {REPORT_RECORD} and not made again"
        checks.append(Check("files for reading", NOT_CHECKED, found, "", tuple(figures)))
    return checks


def _check_record(chain: Chain, paths: Sequence[str]) -> tuple[dict[str, Any], list[Check]]:
    """Compare the files with what was recorded when the report was written."""
    name, checks, recorded = "files for reading are as they were written", list[Check](), dict[str, Any]()
    again = chain.repair_command(REPORT_RECORD, goal=REPORT)
    if REPORT_RECORD not in paths:
        return recorded, checks
    try:
        record = chain.read_whole(REPORT_RECORD)
        recorded = dict(part(record, "outputs", kind=dict))
        if part(record, "inputs", MANIFEST) != file_digest(chain.file(MANIFEST)):
            found = "the report was made from other results than these"
            checks.append(Check("the report is of these results", WARNING, found, "", (REPORT_RECORD,), (), again))
    except UNREADABLE as error:
        return recorded, [unreadable(name, REPORT_RECORD, error, (), again)]
    good = 0
    for path, expected in recorded.items():
        todo = chain.repair_command(path, goal=REPORT) if layout.is_safe(path) else again
        if path not in chain.listing.files:
            found = f"{path} is not here; no number depends on it"
            checks.append(Check(name, WARNING, found, f"{REPORT_RECORD} names it", (path,), (), todo))
        elif (digest := file_digest(chain.folder / path)) != expected:
            found = f"{path} has the sha256 {digest}; no number depends on it"
            checks.append(Check(name, FAILED, found, f"{REPORT_RECORD} says {expected}", (path,), (), todo))
        else:
            good += 1
    return recorded, [
        *checks,
        *([Check(name, PASSED, f"{good} files have the digests that {REPORT_RECORD} names")] if good else []),
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
        name, dataset = "files for reading show the results", INSPECTION.names_in(path)
        made: dict[str, tuple[Callable[[], Any], Callable[[Path, Path], str]]] = {
            SCORES: (self._scores, other_scores),
            SIGNIFICANCE: (self._significance, other_table),
            COST: (self._costs, other_table),
            REPORT: (self._report, other_page),
        }
        if dataset:
            made[path] = partial(self._inspection, dataset["dataset"]), other_record
        if path not in made:
            return
        make, compare = made[path]
        repair = self.chain.repair_command(path, goal=REPORT)
        try:
            for link in ("corpora", "runs", "metrics", "benchmarks"):
                self._link(link)
            make()
            problem = compare(self.chain.file(path), self.scratch / path)
        except BeirflowError as error:
            yield Check(name, NOT_CHECKED, f"{path} could not be made again from these results: {error}", "", (path,))
        except UNREADABLE as error:
            yield unreadable(name, path, error, (), repair)
        else:
            if problem and path == REPORT and not self._same_code():
                found = (
                    f"{path} is not what this beirflow writes: {problem}; other code wrote it, so it is not known who is right"
                )
                yield Check(name, WARNING, found, "", (path,), (), repair)
            elif problem:
                yield Check(name, FAILED, f"{path}: {problem}", "what the results give", (path,), (), repair)
            else:
                yield Check(name, PASSED, f"{path} is what the results give", files=(path,))

    def _same_code(self) -> bool:
        """Whether the code here wrote the report."""
        try:
            return bool(read_record(self.chain.file(REPORT_RECORD)).get("code") in ("", code_version("write_report")))
        except UNREADABLE:
            return False

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
        collect_costs(**paths, rows=self.rows, costs_path=f"{self.scratch}/{COST}", job=Job(self.scratch))

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
