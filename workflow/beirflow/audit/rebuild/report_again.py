"""The report and its data, made again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.analysis.inspection import inspect_dataset
from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.reading import part
from beirflow.audit.rebuild.made_again import link_results, other_page, other_record, other_scores, other_table
from beirflow.audit.rebuild.paper_again import Step
from beirflow.datasets.corpus_files import PreparedCorpus
from beirflow.evaluation.cost import collect_costs
from beirflow.evaluation.main_measure import main_measure
from beirflow.evaluation.scores import collect_scores
from beirflow.evaluation.significance import compare_systems
from beirflow.files import layout
from beirflow.files.csv_files import read_named_csv
from beirflow.files.errors import DataError
from beirflow.files.layout import COST, INSPECTION, MANIFEST, METRICS, PER_QUERY, REPORT, SCORES, SIGNIFICANCE, SUMMARY, SYSTEMS
from beirflow.files.records import Job
from beirflow.report.figure_tables import write_figure_tables
from beirflow.report.registry import FIGURE_TABLES, FIGURES
from beirflow.report.report import ReportFiles, write_report

LINKS = ("corpora", "runs", "metrics", "benchmarks", "energy")
"""Below the results, what is made from."""

PAGE_LINKS = ("metrics", "figures", "inspection", "matches", SUMMARY, MANIFEST, SIGNIFICANCE, COST, SYSTEMS)
"""The same of the page."""


@dataclass(frozen=True)
class ReportAgain:
    """Makes the report again, and what it is made of.

    Attributes:
        chain: What records say.
        scratch: A folder in which links lead to the results, and where to write.
        systems: Names of the systems.
        rows: By dataset its corpora.
        baseline: System that the others are compared with.
    """

    chain: Chain
    scratch: Path
    systems: Sequence[str]
    rows: Mapping[str, Sequence[str]]
    baseline: str

    @property
    def _measure(self) -> str:
        return main_measure(self.chain.manifest["configuration"])

    def step(self, path: str) -> Step | None:
        """Return the functions that rebuild a file and compare it.

        Args:
            path: Its path below the results.

        Returns:
            Both; None for what is no such file.
        """
        dataset = INSPECTION.names_in(path)
        if dataset:
            return partial(self._inspection, dataset["dataset"]), other_record
        figure = layout.FIGURE_DATA.names_in(path)
        if figure and figure["figure"] in FIGURE_TABLES:
            return self._figure_tables, other_table
        made: dict[str, Step] = {
            SCORES: (self._scores, other_scores),
            SIGNIFICANCE: (self._significance, other_table),
            COST: (self._costs, self._other_costs),
            REPORT: (self._report, other_page),
        }
        return made.get(path)

    def _paths(self, pattern: layout.Pattern) -> list[str]:
        pairs = [(system, name) for system in self.systems for names in self.rows.values() for name in names]
        return [f"{self.scratch}/{pattern(system=system, dataset=name)}" for system, name in pairs]

    def _scores(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "per_query_paths": self._paths(PER_QUERY)}
        collect_scores(**paths, scores_path=f"{self.scratch}/{SCORES}", job=Job(self.scratch))

    def _significance(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "per_query_paths": self._paths(PER_QUERY)}
        comparison_path = f"{self.scratch}/{SIGNIFICANCE}"
        compare_systems(**paths, rows=self.rows, comparison_path=comparison_path, main_measure=self._measure)

    def _costs(self) -> None:
        paths = {"means_paths": self._paths(METRICS), "record_paths": self._paths(layout.RUN_RECORD)}
        costs_path = f"{self.scratch}/{COST}"
        collect_costs(**paths, rows=self.rows, costs_path=costs_path, job=Job(self.scratch), carbon_intensity=self._intensity)

    @property
    def _intensity(self) -> float | None:
        """The carbon intensity that the costs were made with; the configuration may have changed after the manifest."""
        said = read_named_csv(str(self.chain.file(COST)))["carbon_intensity"].dropna().tolist()[:1]
        return float(said[0]) if said else None

    def _other_costs(self, here: Path, made: Path) -> str:
        """Return the difference between costs; their carbon intensity may be one that the manifest does not have."""
        problem, configured = other_table(here, made), part(self.chain.manifest, "configuration").get("carbon_intensity")
        if not problem and self._intensity not in (None, configured):
            raise DataError(f"its carbon_intensity is {self._intensity:g}, the manifest's is {configured}; all else agrees")
        return problem

    def _figure_tables(self) -> None:
        folder = self.scratch / "figures"
        folder.mkdir(exist_ok=True)
        rows = [f"{self.scratch}/{path}" for path in self.chain.means]
        costs_path = str(self.chain.file(COST))
        write_figure_tables(means_paths=rows, costs_path=costs_path, folder=str(folder), main_measure=self._measure)

    def _inspection(self, dataset: str) -> None:
        corpus = PreparedCorpus(*(f"{self.scratch}/{path(dataset=dataset)}" for path in (layout.DOCUMENTS, layout.QUERIES)))
        systems = {"run": layout.RUN, "means": METRICS, "per_query": PER_QUERY}
        paths: dict[str, Any] = {
            f"{key}_paths": [f"{self.scratch}/{pattern(system=system, dataset=dataset)}" for system in self.systems]
            for key, pattern in systems.items()
        }
        output_path = f"{self.scratch}/{INSPECTION(dataset=dataset)}"
        paths |= {"output_path": output_path, "main_measure": self._measure}
        inspect_dataset(dataset=dataset, corpus=corpus, **paths, job=Job(self.scratch))

    def _report(self) -> None:
        """The page, from the files for reading as they are: each of them is compared by itself."""
        page = replace(self, scratch=self.scratch / "page")
        link_results(self.chain, page.scratch, PAGE_LINKS)
        rows = [f"{page.scratch}/{path}" for path in self.chain.means]
        names = [name for names in self.rows.values() for name in names]
        files = ReportFiles(
            summary_path=f"{page.scratch}/{SUMMARY}",
            means_paths=[*rows, *page._paths(METRICS)],
            inspection_paths=[f"{page.scratch}/{INSPECTION(dataset=name)}" for name in names],
            comparison_path=f"{page.scratch}/{SIGNIFICANCE}",
            costs_path=f"{page.scratch}/{COST}",
            systems_path=f"{page.scratch}/{SYSTEMS}",
            figure_paths=[f"{page.scratch}/{layout.FIGURE_SVG(figure=name)}" for name in FIGURES],
            manifest_path=f"{page.scratch}/{MANIFEST}",
            matches_paths=[path for path in page._paths(layout.MATCHES) if Path(path).is_file()],
        )
        report_path = f"{page.scratch}/{REPORT}"
        write_report(files=files, report_path=report_path, baseline=self.baseline, job=Job(page.scratch))
        (page.scratch / REPORT).rename(self.scratch / REPORT)
