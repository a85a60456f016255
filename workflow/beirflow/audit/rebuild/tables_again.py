"""The table of systems and the tables for papers, made again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beirflow.audit.rebuild.made_again import other_page, other_table
from beirflow.audit.rebuild.paper_again import Step
from beirflow.evaluation.systems import describe_systems
from beirflow.files import layout
from beirflow.files.errors import DataError
from beirflow.files.records import Job
from beirflow.report.exports import export_tables
from beirflow.report.registry import TABLES

LINKS = ("runs", "models", "corpora", *(folder.rstrip("/") for folder in layout.REPRESENTATIONS), "pairs")
"""Below the results, what the table of systems is made from."""

OF_THE_TABLES = (layout.SUMMARY, layout.SIGNIFICANCE, layout.SYSTEMS)


@dataclass(frozen=True)
class TablesAgain:
    """Makes these tables again.

    Attributes:
        source: A folder in which links lead to the results.
        target: Where to write.
        systems: By name, the ``family`` and the settings of every system.
        rows: By dataset its corpora.
        records: What the records of runs hold, by path.
        baseline: System that the others are compared with.
    """

    source: Path
    target: Path
    systems: Mapping[str, Mapping[str, Any]]
    rows: Mapping[str, Sequence[str]]
    records: Mapping[str, Any]
    baseline: str

    def step(self, path: str) -> Step | None:
        """Return the functions that rebuild a file and compare it.

        Args:
            path: Its path below the results.

        Returns:
            Both; None for what is no such file.
        """
        if path == layout.SYSTEMS:
            return self._systems, other_table
        table = layout.TABLE_TEX.names_in(path) or layout.TABLE_MD.names_in(path)
        is_table = path == layout.CITATIONS() or (table and table["table"] in TABLES)
        return (self._tables, other_page) if is_table else None

    def _systems(self) -> None:
        corpora = [name for names in self.rows.values() for name in names]
        runs = [layout.RUN_RECORD(system=system, dataset=name) for system in self.systems for name in corpora]
        named = {path for run in runs for path in self.records[run]["inputs"] if path.endswith(".json")}
        if gone := sorted(path for path in named if not (self.source / path).is_file()):
            raise DataError(f"it may say what {gone[0]} said, which is not here")
        paths = [str(self.source / run) for run in runs]
        target = str(self.target / layout.SYSTEMS)
        describe_systems(systems=self.systems, record_paths=paths, systems_path=target, job=Job(self.source))

    def _tables(self) -> None:
        if not (self.target / "tables").is_dir():
            (self.target / "tables").mkdir()
            summary, comparison, systems = (str(self.source / path) for path in OF_THE_TABLES)
            export_tables(
                summary_path=summary,
                comparison_path=comparison,
                systems_path=systems,
                baseline=self.baseline,
                results=self.target,
            )
