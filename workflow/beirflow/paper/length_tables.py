"""Lengths of retrieved documents by system and of judged ones by grade: figures of the appendix of the BEIR paper, as tables.

``lengths-retrieved.csv`` and ``lengths-judged.csv`` have a row a bin of a histogram: ``dataset``, ``of`` (``all documents``,
``relevant``, a system; or ``grade <n>``), ``from`` and ``to`` in words, the latter not included, and ``documents``. Only
datasets with several grades are among the judged. ``lengths-medians.csv`` has the medians of all of these, ``printed`` ones
beside them: ``dataset``, ``of``, ``documents``, ``median``, ``printed``. Retrieved are the first ten ranks of every query, and
a document counts as often as it is retrieved or judged. Words are stretches without whitespace.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.analysis.lengths import added_up, median
from beirflow.files.csv_files import write_csv
from beirflow.files.records import read_json
from beirflow.paper.facts import load_facts

RETRIEVED, JUDGED, MEDIANS = TABLES = ("lengths-retrieved", "lengths-judged", "lengths-medians")
"""Names of the tables; the rule names the same."""

COLUMNS = ("dataset", "of", "from", "to", "documents")

GRADES = 2
"""From which on lengths are shown by grade."""

Named = Mapping[str, Mapping[str, Any]]
"""By name, what :func:`~beirflow.analysis.lengths.histogram` gives."""


def write_length_tables(
    *, inspection_paths: Sequence[str], statistics_paths: Sequence[str], rows: Mapping[str, Sequence[str]], folder: str
) -> None:
    """Write the tables.

    Args:
        inspection_paths: What ``inspect_dataset`` wrote of every corpus.
        statistics_paths: What ``count_corpus`` wrote of every corpus.
        rows: By dataset the names of its corpora.
        folder: Where to write them, each as ``<name>.csv``.

    Raises:
        DataError: A file was changed after it was written.
    """
    retrieved = {each["dataset"]: _retrieved(each["lengths"]) for each in map(read_json, inspection_paths)}
    judged = {each["dataset"]: _by_grade(each["lengths"]) for each in map(read_json, statistics_paths)}
    by_row = {
        RETRIEVED: {row: [retrieved[name] for name in names] for row, names in rows.items()},
        JUDGED: {row: [judged[name] for name in names] for row, names in rows.items()},
    }
    by_row[JUDGED] = {
        row: found for row, found in by_row[JUDGED].items() if len({name for each in found for name in each}) >= GRADES
    }
    systems = [name for found in by_row[RETRIEVED].values() for name in found[0]]
    tables = {name: _bins(found) for name, found in by_row.items()} | {MEDIANS: _medians(by_row, systems)}
    for name, table in tables.items():
        write_csv(table, Path(folder, f"{name}.csv"))


def _retrieved(lengths: Mapping[str, Any]) -> Named:
    return {"all documents": lengths["all"], "relevant": lengths["relevant"], **lengths["retrieved"]}


def _by_grade(lengths: Named) -> Named:
    return {f"grade {name}": each for name, each in lengths.items() if name != "all"}


def _bins(by_row: Mapping[str, Sequence[Named]]) -> pd.DataFrame:
    """Every bin that has counted something."""
    found = []
    for row, corpora in by_row.items():
        for name, (edges, counts) in added_up(corpora).items():
            found += [(row, name, edges[i], edges[i + 1], count) for i, count in enumerate(counts) if count]
    return pd.DataFrame(found, columns=list(COLUMNS))


def _medians(by_row: Mapping[str, Mapping[str, Sequence[Named]]], systems: Sequence[str]) -> pd.DataFrame:
    """The median of every histogram, and the printed one of those that stand for a system of the paper."""
    facts, found = load_facts(), []
    paper_names = {ours: name for name, ours in facts.standing(systems).items()}
    for table, rows in by_row.items():
        for row, corpora in rows.items():
            for name in dict.fromkeys(name for each in corpora for name in each):
                named = [each[name] for each in corpora if name in each]
                printed = facts.median_words.get(row, {}).get(paper_names.get(name, ""), np.nan) if table == RETRIEVED else np.nan
                found.append((row, name, sum(each["n"] for each in named), median(named), printed))
    return pd.DataFrame(found, columns=["dataset", "of", "documents", "median", "printed"])


def histograms(table: pd.DataFrame) -> dict[str, dict[str, tuple[list[int], list[int]]]]:
    """A table of bins as histograms again.

    Args:
        table: What ``lengths-retrieved.csv`` or ``lengths-judged.csv`` holds.

    Returns:
        By dataset, by name, edges and counts from the first bin that counted something to the last.
    """
    found: dict[str, dict[str, tuple[list[int], list[int]]]] = {}
    for (dataset, name), part in table.groupby(["dataset", "of"], sort=False):
        edges, counts = [int(part["from"].iloc[0])], list[int]()
        for low, high, count in part[["from", "to", "documents"]].itertuples(index=False):
            if low > edges[-1]:  # bins between that counted nothing are one
                edges, counts = [*edges, int(low)], [*counts, 0]
            edges, counts = [*edges, int(high)], [*counts, int(count)]
        found.setdefault(str(dataset), {})[str(name)] = (edges, counts)
    return found
