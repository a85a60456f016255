"""The datasets of the BEIR paper as tables: table 1, their statistics, and the lengths of their documents.

``docs/files.md`` describes ``table-1.csv`` and the three of lengths.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.records import read_json
from beirflow.extensions.paper.printed_values import Paper, load_paper
from beirflow.extensions.paper.registry import tables_of
from beirflow.report.analysis.lengths import added_up, by_name, median

NUMBERS = ("queries", "documents", "relevant_per_query", "query_words", "document_words")
"""Columns of table 1 whose values the paper prints too."""

STATISTICS = (
    "dataset",
    "task",
    "domain",
    "titles",
    "without_text",
    "relevancy",
    *NUMBERS,
    *(f"printed_{name}" for name in NUMBERS),
    "note",
)
"""Columns of table 1."""

RETRIEVED, JUDGED, MEDIANS = tables_of("tabulate_lengths")

BINS = ("dataset", "of", "from", "to", "documents")  # columns of a table of histograms
GRADES = 2  # least number of grades of a dataset whose lengths are shown by grade
Named = Mapping[str, Mapping[str, Any]]  # by name what ``histogram`` returns


def write_table_1(*, statistics_paths: Sequence[str], rows: Mapping[str, Sequence[str]], table_path: str) -> None:
    """Write table 1 from the statistics of every corpus; ``rows`` has the corpora of every dataset."""
    of_corpus = {record["dataset"]: record for record in map(read_json, statistics_paths)}
    write_csv(table_1({row: [of_corpus[name] for name in names] for row, names in rows.items()}, load_paper()), table_path)


def table_1(statistics: Mapping[str, Sequence[Mapping[str, Any]]], paper: Paper) -> pd.DataFrame:
    """Return table 1 from the statistics of the corpora of every dataset."""
    names = [*paper.datasets, *(name for name in statistics if name not in paper.datasets)]
    return pd.DataFrame([_row(name, statistics.get(name, ()), paper) for name in names], columns=list(STATISTICS))


def _row(name: str, corpora: Sequence[Mapping[str, Any]], paper: Paper) -> dict[str, Any]:
    printed = paper.datasets.get(name, {})
    row = {"dataset": name, **{key: printed.get(key) for key in ("task", "domain")}}
    row |= {f"printed_{key}": printed.get(key) for key in NUMBERS}
    if not corpora:
        return row | {"note": paper.absence(name)}
    total = {key: sum(corpus["counts"][key] for corpus in corpora) for key in corpora[0]["counts"]}
    # Irrelevant is a level even if nothing is judged so.
    levels = len({0, *(int(grade) for corpus in corpora for grade in corpus["grades"] if int(grade) >= 0)})
    return row | {
        "titles": total["titles"] / total["documents"],
        "without_text": total["without_text"],
        "relevancy": "binary" if levels <= len(("irrelevant", "relevant")) else f"{levels} levels",
        **{key: total[key] for key in ("queries", "documents")},
        "relevant_per_query": total["relevant"] / total["queries"],
        "query_words": total["query_words"] / total["queries"],
        "document_words": total["document_words"] / total["documents"],
        "note": "",
    }


def write_length_tables(
    *, inspection_paths: Sequence[str], statistics_paths: Sequence[str], rows: Mapping[str, Sequence[str]], folder: str
) -> None:
    """Write the tables of lengths from inspections and statistics of corpora; ``rows`` has the corpora of every dataset."""
    retrieved = {record["dataset"]: by_name(record["lengths"]) for record in map(read_json, inspection_paths)}
    judged = {
        record["dataset"]: {f"grade {name}": each for name, each in record["lengths"].items() if name != "all"}
        for record in map(read_json, statistics_paths)
    }
    of_retrieved = {row: [retrieved[name] for name in names] for row, names in rows.items()}
    of_judged = {row: [judged[name] for name in names] for row, names in rows.items()}
    graded = {
        row: corpora for row, corpora in of_judged.items() if len({grade for named in corpora for grade in named}) >= GRADES
    }
    systems = [name for corpora in of_retrieved.values() for name in corpora[0]]
    by_row = {RETRIEVED: of_retrieved, JUDGED: graded}
    tables = {name: bins(histograms) for name, histograms in by_row.items()} | {MEDIANS: medians(by_row, systems)}
    for name, table in tables.items():
        write_csv(table, Path(folder, f"{name}.csv"))


def bins(by_row: Mapping[str, Sequence[Named]]) -> pd.DataFrame:
    """Return every bin that has counted something, from the histograms of the corpora of every dataset."""
    rows = []
    for row, corpora in by_row.items():
        for name, (edges, counts) in added_up(corpora).items():
            rows += [(row, name, edges[i], edges[i + 1], count) for i, count in enumerate(counts) if count]
    return pd.DataFrame(rows, columns=list(BINS))


def medians(by_row: Mapping[str, Mapping[str, Sequence[Named]]], systems: Sequence[str]) -> pd.DataFrame:
    """Return the median of every histogram, and the printed one of systems that stand for one of the paper."""
    paper, table_rows = load_paper(), []
    paper_names = {ours: name for name, ours in paper.standing(systems).items()}
    for table, rows in by_row.items():
        for row, corpora in rows.items():
            for name in dict.fromkeys(name for named in corpora for name in named):
                histograms = [named[name] for named in corpora if name in named]
                printed = paper.median_words.get(row, {}).get(paper_names.get(name, ""), np.nan) if table == RETRIEVED else np.nan
                table_rows.append((row, name, sum(histogram["n"] for histogram in histograms), median(histograms), printed))
    return pd.DataFrame(table_rows, columns=["dataset", "of", "documents", "median", "printed"])


def histograms_of(table: pd.DataFrame) -> dict[str, dict[str, tuple[list[int], list[int]]]]:
    """Return the histograms of a table of bins: by dataset, by name, edges and counts from the first counted bin on."""
    histograms: dict[str, dict[str, tuple[list[int], list[int]]]] = {}
    for (dataset, name), part in table.groupby(["dataset", "of"], sort=False):
        edges, counts = [int(part["from"].iloc[0])], list[int]()
        for low, high, count in part[["from", "to", "documents"]].itertuples(index=False):
            if low > edges[-1]:  # bins between that counted nothing are one
                edges, counts = [*edges, int(low)], [*counts, 0]
            edges, counts = [*edges, int(high)], [*counts, int(count)]
        histograms.setdefault(str(dataset), {})[str(name)] = (edges, counts)
    return histograms
