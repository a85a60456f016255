"""Summarise the metrics of all systems on all datasets in one table."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from beirflow.catalogue import Catalogue, load_catalogue
from beirflow.files import atomic_path, file_digest, read_json

MAIN_MEASURES = ("NDCG@10", "Recall@100", "MAP@100", "R_cap@100", "MRR@10", "P@10", "Hole@10")
PUBLISHED = ("NDCG@10", "Recall@100")
LAST = ("documents_per_second", "seconds", "metrics_sha256")
SUMS = ("documents", "queries", "encode_seconds", "seconds")

AVERAGES = (
    ("BEIR", ()),
    ("BEIR without msmarco", ("msmarco",)),
    ("BEIR without msmarco and cqadupstack", ("msmarco", "cqadupstack")),
)
"""The three averages of the literature, by what they leave out."""


def summarize(*, means_paths: Sequence[str], rows: Mapping[str, Sequence[str]], summary_path: str) -> str:
    """Write the table of all results.

    Args:
        means_paths: The ``metrics`` JSON of every system on every corpus.
        rows: By dataset, the names of its corpora: one, or one a forum.
        summary_path: CSV to write: a row a system and dataset, then the averages of each system.

    Returns:
        The same table for reading on a terminal, numbers rounded.
    """
    catalogue = load_catalogue()
    by_system: dict[str, dict[str, dict[str, Any]]] = {}
    for path in means_paths:
        means = read_json(path) | {"file_sha256": file_digest(path)}
        by_system.setdefault(means["system"], {})[means["dataset"]] = means
    lines: list[dict[str, Any]] = []
    for system, means_of in by_system.items():
        own = [_dataset_row(catalogue, system, row, [means_of[name] for name in names]) for row, names in rows.items()]
        lines += own + _average_rows(list(catalogue.datasets), own)
    table = pd.DataFrame(lines)
    table["documents_per_second"] = table["documents"] / table.pop("encode_seconds")
    table = table[[name for name in table.columns if name not in LAST] + list(LAST)]
    with atomic_path(summary_path) as partial:
        table.to_csv(partial, index=False)
    return for_terminal(table)


def _dataset_row(catalogue: Catalogue, system: str, dataset: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One dataset; the plain mean of its corpora where they are several."""
    names = [name for name in MAIN_MEASURES if name in parts[0]["measures"]] or list(parts[0]["measures"])[:1]
    measures = {name: sum(part["measures"][name] for part in parts) / len(parts) for name in names}
    row: dict[str, Any] = {"system": system, "dataset": dataset, "split": parts[0]["split"]}
    row |= {key: sum(part["counts"][key] for part in parts) for key in ("documents", "queries")}
    row |= measures
    comparable = all(part["official_data"] is not False for part in parts)
    for name in PUBLISHED:
        reference = catalogue.reference(system, dataset, name) if comparable and name in measures else None
        row[f"published_{name}"] = reference.value if reference else None
        row[f"difference_{name}"] = measures[name] - reference.value if reference else None
        row[f"source_{name}"] = reference.source if reference else None
    row["encode_seconds"] = sum(part["seconds"]["encode_documents"] for part in parts)
    row["seconds"] = sum(sum(part["seconds"].values()) for part in parts)
    row["metrics_sha256"] = _digest([part["file_sha256"] for part in parts])
    return row


def _average_rows(official: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means over datasets, named by what they are means of; none for a single dataset."""
    present = [row["dataset"] for row in rows]
    groups: dict[str, list[str]] = {}
    for label, excluded in AVERAGES:
        members = [name for name in official if name not in excluded]
        if set(members) <= set(present):
            groups[f"mean of {len(members)} ({label})"] = members
    if len(present) > 1 and set(present) not in map(set, groups.values()):
        groups[f"mean of {len(present)} ({', '.join(present)})"] = present
    return [_average_row(label, [row for row in rows if row["dataset"] in members]) for label, members in groups.items()]


def _average_row(label: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    average: dict[str, Any] = {"system": rows[0]["system"], "dataset": label}
    average |= {key: sum(row[key] for row in rows) for key in SUMS}
    average |= {key: sum(row[key] for row in rows) / len(rows) for key in rows[0] if _is_measure(key)}
    return average | {"metrics_sha256": _digest([row["metrics_sha256"] for row in rows])}


def _is_measure(column: str) -> bool:
    return "@" in column and not column.startswith(("published_", "difference_", "source_"))


def _digest(digests: Sequence[str]) -> str:
    """The digest of one file, or one digest over those of several."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def for_terminal(table: pd.DataFrame) -> str:
    """The summary in aligned columns, rounded, without the columns that only programs read.

    Args:
        table: What stands in ``summary.csv``.

    Returns:
        Lines of text.
    """
    table = table.drop(columns=[name for name in table.columns if name.startswith("source_") or name.endswith("sha256")])
    table = table.dropna(axis="columns", how="all")
    formats: dict[str, str] = {name: "{:.4f}" for name in table.columns if "@" in name}
    formats |= {name: "{:+.4f}" for name in table.columns if name.startswith("difference_")}
    formats |= {"documents": "{:,.0f}", "queries": "{:,.0f}", "documents_per_second": "{:,.0f}", "seconds": "{:,.0f}"}
    text = pd.DataFrame(
        {
            name: ["" if pd.isna(value) else formats.get(name, "{}").format(value) for value in table[name]]
            for name in table.columns
        }
    )
    short = {"difference_": "diff ", "published_": "publ ", "documents_per_second": "docs/s"}
    headers = list(text.columns)
    for old, new in short.items():
        headers = [header.replace(old, new) for header in headers]
    text.columns = pd.Index(headers)
    return text.to_string(index=False, justify="right", line_width=None)
