"""The tables of the page of the BEIR paper, from the files beside it, arranged for reading."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import pandas as pd

from beirflow.paper.efficiency import GIGABYTE
from beirflow.paper.table_1 import NUMBERS
from beirflow.report.pages import Cell, Column, Table, number

STUB = Column("Dataset", number=False, classes="stub")
PRINTED, HERE = "printed ", "here "

COUNTED = {
    "queries": ("Queries", ",.0f"),
    "documents": ("Documents", ",.0f"),
    "relevant_per_query": ("Relevant a query", ",.1f"),
    "query_words": ("Words of a query", ",.2f"),
    "document_words": ("Words of a document", ",.2f"),
}
"""Numbers of table 1: their headers, and how they are written."""

BIAS = {
    "hole": "Hole@10",
    "unjudged": "Unjudged for the query",
    "ndcg": "NDCG@10",
    "ndcg_holes_relevant": "if holes were relevant",
    "ndcg_condensed": "without holes",
    "bpref": "bpref",
    "hole_extra": "Hole@10, with extra judgements",
    "ndcg_extra": "NDCG@10, with them",
    "printed_hole": "Hole@10, printed",
    "printed_ndcg": "NDCG@10, printed",
    "printed_ndcg_annotated": "annotated, printed",
}
"""Columns of ``bias.csv`` and their headers."""

EFFICIENCY = {
    "documents": ("Documents", ",.0f"),
    "gpu_ms": ("GPU, ms", ",.1f"),
    "gpu_p95_ms": ("GPU, 95th percentile", ",.1f"),
    "cpu_ms": ("CPU, ms", ",.1f"),
    "cpu_p95_ms": ("CPU, 95th percentile", ",.1f"),
    "queries": ("Queries", ",.0f"),
    "index_bytes": ("Index, GB", ",.3g"),
}
"""Numbers of ``efficiency.csv``: their headers, and how they are written."""

CLAIMS = {"finding": "Finding", "says": "The paper says", "source": "In", "verdict": "Verdict", "sentence": "Computed"}


class Notes:
    """Texts that are too long for a cell, each named by a letter in the order in which they are met."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, text: object) -> str:
        """The letter of a text; none for an empty one."""
        return self._letters.setdefault(text, ascii_lowercase[len(self._letters) % 26]) if isinstance(text, str) and text else ""

    def lines(self) -> list[str]:
        """What each letter means."""
        return [f"{letter}: {text}" for text, letter in self._letters.items()]


def scores_table(name: str, measure: str, table: pd.DataFrame, notes: Notes) -> Table:
    """Table 2: printed values, then ours; the best of each row, of the printed and of ours, is marked.

    Args:
        name: Of the file.
        measure: What it holds.
        table: What the file holds.
        notes: Is told what to know of a row.

    Returns:
        The table; the names of the datasets of an average are in a note.
    """
    columns = {prefix: [each for each in table.columns if each.startswith(prefix)] for prefix in (PRINTED, HERE)}
    rows = []
    for row in table.to_dict("records"):
        label, _, members = str(row["dataset"]).partition(": ")
        said = [f"over {members.removesuffix(')')}"] if members else []
        note = notes.letter(". ".join([*said, *([row["note"]] if isinstance(row["note"], str) else [])]))
        cells = [Cell(label + (")" if members else ""), note=note)]
        for prefix, names in columns.items():
            best = str(row.get(f"best_{prefix.strip()}", "")).split(", ")
            form = "+.1%" if label.startswith("difference") else ".3f" if prefix == PRINTED else ".4f"
            plain = [number(row[each], form) for each in names]
            marks = [each.removeprefix(prefix) in best for each in names]
            cells += [Cell(cell.text, cell.value, mark) for cell, mark in zip(plain, marks, strict=True)]
        rows.append(cells)
    groups = [(label, len(columns[prefix])) for label, prefix in (("Printed", PRINTED), ("Here", HERE)) if columns[prefix]]
    headers = [STUB]
    for prefix, names in columns.items():
        headers += [
            Column(each.removeprefix(prefix), classes=f"number upright{'' if i else ' group'}") for i, each in enumerate(names)
        ]
    return Table(name, f"{measure} (table 2)", f"{measure} of every system on every dataset", headers, rows, groups, close=True)


def statistics_table(table: pd.DataFrame, notes: Notes) -> Table:
    """Table 1: numbers that are here, each beside the printed one.

    Args:
        table: What ``table-1.csv`` holds.
        notes: Is told what to know of a row.

    Returns:
        The table.
    """
    words = {"task": "Task", "domain": "Domain", "relevancy": "Relevancy"}
    columns = [STUB, *(Column(label, number=False, classes="") for label in words.values()), Column("Titles")]
    columns += [
        Column(part, classes="number group" if part == "here" else "number") for _ in NUMBERS for part in ("here", "printed")
    ]
    rows = []
    for row in table.to_dict("records"):
        cells = [Cell(str(row["dataset"]), note=notes.letter(row["note"]))]
        cells += [Cell(str(row[key]) if isinstance(row[key], str) else "") for key in words]
        cells.append(number(row["titles"], ".0%"))
        cells += [number(row[key], COUNTED[name][1]) for name in NUMBERS for key in (name, f"printed_{name}")]
        rows.append(cells)
    groups = [("", len(words) + 1), *((COUNTED[name][0], 2) for name in NUMBERS)]
    return Table("table-1", "Datasets (table 1)", "Statistics of the datasets", columns, rows, groups, close=True)


def claims_table(table: pd.DataFrame) -> Table:
    """The findings with their verdicts, those on our results first."""
    kinds = {"finding": "stub", "says": "prose", "sentence": "prose"}
    columns = [Column(label, number=False, classes=kinds.get(key, "")) for key, label in CLAIMS.items()]
    return Table("claims", "Findings (section 5)", "What the paper finds, and whether it holds", columns, _words(table, CLAIMS))


def bias_table(table: pd.DataFrame) -> Table | None:
    """Holes and what they may change, where judgements are pooled or there are further ones; None if there is no such."""
    pooled = table[table["pooled"].astype(bool) | table["extra"].notna()]
    if pooled.empty:
        return None
    columns = [
        STUB,
        Column("System", number=False, classes=""),
        *(Column(label, classes="number upright") for label in BIAS.values()),
    ]
    rows = [
        [Cell(str(row["dataset"])), Cell(str(row["system"])), *(number(row[key]) for key in BIAS)]
        for row in pooled.to_dict("records")
    ]
    return Table(
        "bias", "Annotation bias (section 6)", "Unjudged documents where judgements are pooled", columns, rows, close=True
    )


def efficiency_table(table: pd.DataFrame, notes: Notes) -> Table:
    """Latency and index: what is quoted of the paper, then ours.

    Args:
        table: What ``efficiency.csv`` holds.
        notes: Is told on what ours were measured, and why a time is not there.

    Returns:
        The table.
    """
    words = {"source": "Source", "dataset": "Dataset"}
    columns = [
        Column("System", number=False, classes="stub"),
        *(Column(each, number=False, classes="") for each in words.values()),
    ]
    columns += [Column(label, classes="number upright") for label, _ in EFFICIENCY.values()]
    rows = []
    for row in table.to_dict("records"):
        cores = "" if row["threads"] != row["threads"] else f"{row['threads']:.0f} threads of {row['processor']}"
        said = [cores, *(row[key] for key in ("gpu", "note") if isinstance(row[key], str))]
        numbers = row | {"index_bytes": row["index_bytes"] / GIGABYTE}
        cells = [
            Cell(str(row["system"]), note=notes.letter("; ".join(filter(None, said)))),
            *(Cell(str(row[key])) for key in words),
        ]
        rows.append([*cells, *(number(numbers[key], form) for key, (_, form) in EFFICIENCY.items())])
    title = "Latency and index (section 4.1)"
    return Table("efficiency", title, "Milliseconds of one query, and the size of the index", columns, rows, close=True)


def medians_table(table: pd.DataFrame) -> Table:
    """Medians of the lengths of documents."""
    columns = [STUB, Column("Of", number=False, classes=""), Column("Documents"), Column("Median words"), Column("Printed")]
    rows = [
        [
            Cell(str(row["dataset"])),
            Cell(str(row["of"])),
            *(number(row[key], ",.0f") for key in ("documents", "median", "printed")),
        ]
        for row in table.to_dict("records")
    ]
    return Table(
        "lengths-medians", "Lengths of documents", "Median words of retrieved and judged documents", columns, rows, tall=True
    )


def _words(table: pd.DataFrame, labels: Mapping[str, str]) -> Sequence[Sequence[Cell]]:
    return [[Cell(str(row[key])) for key in labels] for row in table.to_dict("records")]
