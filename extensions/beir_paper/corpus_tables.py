"""The datasets of the BEIR paper as tables: table 1, their statistics, and the lengths of their documents.

``README.md`` describes ``table-1.csv`` and the three of lengths.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.records import read_json
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.evaluation.scores import read_means
from beirflow.extensions.beir_paper.printed_values import Paper, load_paper
from beirflow.extensions.beir_paper.registry import LENGTHS
from beirflow.report.analysis.lengths import added_up, by_name, median

NUMBERS = ("levels", "queries", "documents", "relevant_per_query", "query_words", "document_words")
"""Columns of table 1 whose values the paper prints too."""

ABOUT = ("dataset", "task", "domain", "titles", "without_text")
STATISTICS = (*ABOUT, *NUMBERS, *(f"printed_{name}" for name in NUMBERS), "note")
"""Columns of table 1."""

SIMILARITIES = ("dataset", "cosine", "dot", "cosine_ndcg", "dot_ndcg", "difference", "printed", "cosine_words", "dot_words")
"""Columns of ``similarities.csv``."""

NDCG = "NDCG@10"
RETRIEVED, JUDGED, MEDIANS, PAIRS = LENGTHS

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
        private = name in load_catalogue().own_copies
        return row | {"note": "not public, so it needs a copy of one's own" if private else "not evaluated here"}
    total = {key: sum(corpus["counts"][key] for corpus in corpora) for key in corpora[0]["counts"]}
    return row | {
        "titles": total["titles"] / total["documents"],
        "without_text": total["without_text"],
        # Irrelevant is a level even if nothing is judged so.
        "levels": len({0, *(int(grade) for corpus in corpora for grade in corpus["grades"] if int(grade) >= 0)}),
        **{key: total[key] for key in ("queries", "documents")},
        "relevant_per_query": total["relevant"] / total["queries"],
        "query_words": total["query_words"] / total["queries"],
        "document_words": total["document_words"] / total["documents"],
        "note": "",
    }


def write_length_tables(
    *,
    inspection_paths: Sequence[str],
    statistics_paths: Sequence[str],
    means_paths: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    pairs: Sequence[tuple[str, str]],
    folder: str,
) -> None:
    """Write the tables of lengths from inspections and statistics of corpora; ``rows`` has the corpora of every dataset.

    ``pairs`` are systems that compare the same vectors, one by the cosine and one by the dot product.
    """
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
    by_row = {RETRIEVED: of_retrieved, JUDGED: graded}
    tables = {name: bins(histograms) for name, histograms in by_row.items()} | {MEDIANS: (words := medians(by_row))}
    tables[PAIRS] = similarities([read_means(path) for path in means_paths], words, pairs)
    for name, table in tables.items():
        write_csv(table, Path(folder, f"{name}.csv"))


def bins(by_row: Mapping[str, Sequence[Named]]) -> pd.DataFrame:
    """Return every bin that has counted something, from the histograms of the corpora of every dataset."""
    rows = []
    for row, corpora in by_row.items():
        for name, (edges, counts) in added_up(corpora).items():
            rows += [(row, name, edges[i], edges[i + 1], count) for i, count in enumerate(counts) if count]
    return pd.DataFrame(rows, columns=list(BINS))


def medians(by_row: Mapping[str, Mapping[str, Sequence[Named]]]) -> pd.DataFrame:
    """Return the median of every histogram, and the printed one of systems that represent one of the paper."""
    paper, table_rows = load_paper(), []
    for table, rows in by_row.items():
        for row, corpora in rows.items():
            for name in dict.fromkeys(name for named in corpora for name in named):
                histograms = [named[name] for named in corpora if name in named]
                printed = paper.printed("median", name, row) if table == RETRIEVED else None
                table_rows.append((row, name, sum(histogram["n"] for histogram in histograms), median(histograms), printed))
    return pd.DataFrame(table_rows, columns=["dataset", "of", "documents", "median", "printed"])


def similarities(means: Sequence[Mapping[str, Any]], words: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Return the scores and median words of ``pairs``, each the system with the cosine and the one with the dot product."""
    scores = {(each["system"], each["dataset"]): each["measures"].get(NDCG, np.nan) for each in means}
    median_of = words.set_index(["of", "dataset"])["median"]
    printed = {name: value for (_, name), value in load_paper().numbers[PAIRS].items()}
    table = []
    for pair in pairs:
        for dataset in dict.fromkeys(name for system, name in scores if system in pair):
            (cosine, dot), lengths = ([of[system, dataset] for system in pair] for of in (scores, median_of))
            table.append((dataset, *pair, cosine, dot, dot - cosine, printed.get(dataset), *lengths))
    return pd.DataFrame(table, columns=list(SIMILARITIES))


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
