"""The tables of the BEIR paper, made again from the results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from beirflow.audit.digests.reading import read_columns, read_record
from beirflow.audit.rebuild.made_again import other_page, other_table
from beirflow.catalogue.choice import asked_corpus
from beirflow.files import layout
from beirflow.files.records import Job
from beirflow.paper.bias import EXTRA, measure_bias
from beirflow.paper.claims import write_claims
from beirflow.paper.corpus_tables import write_length_tables, write_table_1
from beirflow.paper.efficiency import tabulate_efficiency
from beirflow.paper.overlap import measure_overlap
from beirflow.paper.page import write_paper
from beirflow.paper.score_tables import write_against_baseline, write_tables
from beirflow.paper.statistics import count_corpus
from beirflow.report.registry import PAPER_TABLES

LINKS = ("corpora", "inspection", "latency", "metrics", "paper", "runs", layout.SIGNIFICANCE, layout.COST, layout.MANIFEST)
"""Below the results, what the tables are made from; tables of the paper themselves, since each is compared by itself."""

COUNTED = ("dataset", "split", "counts", "grades", "lengths")
"""Keys of a corpus's statistics to compare; their digests depend on the version of the writer."""

Step = tuple[Callable[[], Any], Callable[[Path, Path], str]]
"""Function that rebuilds a file, and function that returns its difference."""


@dataclass(frozen=True)
class PaperAgain:
    """Makes tables of the paper again.

    Attributes:
        source: A folder in which links lead to the results.
        target: Where to write.
        systems: Names of the systems.
        rows: By dataset its corpora.
        baseline: System that the others are compared with.
    """

    source: Path
    target: Path
    systems: Sequence[str]
    rows: Mapping[str, Sequence[str]]
    baseline: str

    def steps(self, path: str) -> Step | None:
        """Return the functions that rebuild a file of the paper and compare it.

        Args:
            path: Its path below the results.

        Returns:
            Both; None for what is not made again.
        """
        if path == layout.PAPER:
            return self._page, other_page
        table, dataset = layout.PAPER_TABLE.names_in(path), layout.PAPER_STATISTICS.names_in(path)
        words = layout.PAPER_WORDS.names_in(path)
        if dataset or words:
            name = (dataset or words or {})["dataset"]
            return partial(self._count, name), other_statistics if dataset else other_words
        rules: dict[str, Callable[[], None]] = {
            "tabulate_paper": self._table_2,
            "tabulate_lengths": self._lengths,
            "describe_corpora": self._table_1,
            "check_claims": self._claims,
            "compare_with_baseline": self._against_baseline,
            "measure_overlap": self._overlap,
            "measure_bias": self._bias,
            "tabulate_efficiency": self._efficiency,
        }
        make = rules[PAPER_TABLES[table["table"]].rule] if table and table["table"] in PAPER_TABLES else None
        return (make, partial(other_table, given=EXTRA)) if make else None

    def _to(self, table: str) -> str:
        path = self.target / layout.PAPER_TABLE(table=table)
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)

    def _pairs(self, pattern: layout.Pattern, names: Sequence[str]) -> list[str]:
        return [str(self.source / pattern(system=system, dataset=name)) for system in self.systems for name in names]

    def _each(self, pattern: layout.Pattern) -> list[str]:
        return [str(self.source / pattern(dataset=name)) for name in self._corpora]

    @property
    def _corpora(self) -> list[str]:
        return [name for names in self.rows.values() for name in names]

    @property
    def _means(self) -> list[str]:
        return self._pairs(layout.METRICS, list(self.rows))

    def _page(self) -> None:
        """The page, from tables and figures as they are: each of them is compared by itself."""
        self.target.joinpath("paper").mkdir(parents=True, exist_ok=True)
        page, manifest = self.target / layout.PAPER, str(self.source / layout.MANIFEST)
        folder, record = str(self.source / "paper"), str(self.target / "page.json")
        job = Job(self.target.parent)
        write_paper(folder=folder, other_paths=[], manifest_path=manifest, page_path=str(page), record_path=record, job=job)

    def _table_2(self) -> None:
        write_tables(means_paths=self._means, folder=str(Path(self._to("table-2")).parent))

    def _table_1(self) -> None:
        statistics = self._each(layout.PAPER_STATISTICS)
        write_table_1(statistics_paths=statistics, rows=self.rows, table_path=self._to("table-1"))

    def _claims(self) -> None:
        write_claims(
            means_paths=self._means,
            inspection_paths=self._each(layout.INSPECTION),
            costs_path=str(self.source / layout.COST),
            comparison_path=str(self.source / layout.SIGNIFICANCE),
            rows=self.rows,
            claims_path=self._to("claims"),
        )

    def _against_baseline(self) -> None:
        write_against_baseline(
            means_paths=self._means,
            comparison_path=str(self.source / layout.SIGNIFICANCE),
            baseline=self.baseline,
            table_path=self._to("against-baseline"),
        )

    def _overlap(self) -> None:
        measure_overlap(
            words_paths=self._each(layout.PAPER_WORDS),
            statistics_paths=self._each(layout.PAPER_STATISTICS),
            rows=self.rows,
            overlap_path=self._to("overlap"),
        )

    def _lengths(self) -> None:
        write_length_tables(
            inspection_paths=self._each(layout.INSPECTION),
            statistics_paths=self._each(layout.PAPER_STATISTICS),
            rows=self.rows,
            folder=str(Path(self._to("lengths-retrieved")).parent),
        )

    def _bias(self) -> None:
        measure_bias(
            means_paths=self._pairs(layout.METRICS, self._corpora),
            run_paths=self._pairs(layout.RUN, self._corpora),
            qrels_paths=dict(zip(self._corpora, self._each(layout.QRELS), strict=True)),
            rows=self.rows,
            bias_path=self._to("bias"),
            job=Job(self.source),
        )

    def _efficiency(self) -> None:
        documents = {
            name: read_record(self.source / layout.CORPUS(dataset=name))["counts"]["documents"] for name in self._corpora
        }
        latencies = self._pairs(layout.LATENCY, [asked_corpus(documents)])
        tabulate_efficiency(latency_paths=latencies, table_path=self._to("efficiency"))

    def _count(self, name: str) -> None:
        corpus = {"documents": layout.DOCUMENTS, "queries": layout.QUERIES, "qrels": layout.QRELS, "corpus": layout.CORPUS}
        words = self.target / layout.PAPER_WORDS(dataset=name)
        words.parent.mkdir(parents=True, exist_ok=True)
        count_corpus(
            dataset=name,
            **{f"{key}_path": str(self.source / pattern(dataset=name)) for key, pattern in corpus.items()},
            words_path=str(words),
            statistics_path=str(layout.record_of(words)),
            job=Job(self.target),
        )


def other_words(here: Path, made: Path) -> str:
    """Return the difference between the words of a corpus.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if they do not differ.
    """
    return "" if read_columns(here, here.name).equals(pq.read_table(made)) else "other words or counts"


def other_statistics(here: Path, made: Path) -> str:
    """Return the difference between the statistics of a corpus.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if they do not differ.
    """
    found, expected = (read_record(path) for path in (here, made))
    keys = [key for key in COUNTED if found.get(key) != expected.get(key)]
    return f"other {', '.join(keys)}" if keys else ""
