"""Rows of stored representations and expansions of any kind, and distances between them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.verified import reading

Columns = Mapping[str, np.ndarray]

Row = tuple[np.ndarray | None, np.ndarray]
"""Representation of a text: keys, such as terms, or None for vectors; and values, float64."""


def rows_of(path: Path, rows: np.ndarray) -> list[Row]:
    """Read some rows of a file of vectors, token vectors, query weights, postings or expansions."""
    if path.suffix == ".npy":
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        return [(None, np.array(vectors[row], np.float64)) for row in rows.tolist()]
    if path.suffix == ".parquet":
        found = pq.read_table(path).drop_columns(["doc_id"]).take(rows).to_pylist()
        split = ((keys, weights[0] if weights else np.ones(len(keys))) for keys, *weights in (row.values() for row in found))
        return [(np.array(keys, object), np.array(weights, np.float64)) for keys, weights in split]
    parts: dict[int, list[tuple[Any, Any]]] = {row: [] for row in rows.tolist()}
    for row, key, value in _entries(path, rows):
        if row in parts:
            parts[row].append((key, np.asarray(value, np.float64).ravel()))
    columns = [list(zip(*parts[row], strict=True)) or [(), ()] for row in rows.tolist()]
    return [(np.concatenate([[], *keys]), np.concatenate([[], *values])) for keys, values in columns]


def _entries(path: Path, rows: np.ndarray) -> Iterator[tuple[int, Any, Any]]:
    """Yield rows of a file, or parts of them, with keys and values; of postings only the requested rows."""
    terms = frequencies = np.zeros(0, np.int64)
    first = posting = 0  # of the documents and of the postings that have been read
    for columns in _batches(path):
        if "vectors" in columns:
            texts = np.split(columns["vectors"].reshape(-1, int(columns["dim"][0])), np.cumsum(columns["counts"])[:-1])
            for row, text in zip(columns["rows"].tolist(), columns["text"].tolist(), strict=True):
                yield row, np.arange(texts[text].size), texts[text]
        elif "rows" not in columns:
            bounds = np.concatenate([[0], np.cumsum(columns["counts"])])
            for row in rows.tolist():
                yield row, *(columns[name][bounds[row] : bounds[row + 1]] for name in ("terms", "weights"))
        else:
            if len(columns["terms"]) or "documents" in columns:
                terms, frequencies, posting = columns["terms"], columns["frequencies"], 0
            documents = np.cumsum(columns["rows"], dtype=columns["rows"].dtype).astype(np.int64) + first
            yield from _of_segment(columns, documents, np.repeat(terms, frequencies)[posting : posting + len(documents)], rows)
            posting += len(documents)
            first += int(columns["documents"][0]) if "documents" in columns else 0


def _of_segment(columns: Columns, documents: np.ndarray, terms: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, Any, Any]]:
    """Yield the postings of some documents in a batch with the given terms, and the lengths of their texts."""
    counted = [name for name in ("weights", "title_counts", "text_counts") if name in columns]
    for place in np.flatnonzero(np.isin(documents, rows)).tolist():
        yield int(documents[place]), [f"{name} {terms[place]}" for name in counted], [columns[name][place] for name in counted]
    for name in ("title_lengths", "text_lengths", "title_filled", "text_filled"):
        for row in rows.tolist() if len(columns.get(name, ())) else ():
            yield row, [name], columns[name][[row]]


def _batches(path: Path) -> Iterator[Columns]:
    """Yield the columns of each batch, by name, as arrays."""
    if not path.stat().st_size:  # of a chunk without documents
        return
    with reading(path), pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            flat = {name: batch[name].flatten() for name in batch.schema.names}
            yield {name: values.to_numpy(zero_copy_only=False) for name, values in flat.items()}


def distance(stored: Row, again: Row) -> float:
    """Return the norm of the difference of two representations of a text, relative to the stored one."""
    (keys, values), (others, found) = stored, again
    if keys is not None and others is not None:
        every, place = np.unique(np.concatenate([keys, others]).astype(str), return_inverse=True)
        values = np.bincount(place[: len(keys)], values, len(every))
        found = np.bincount(place[len(keys) :], found, len(every))
    if values.shape != found.shape:
        return float("inf")
    return float(np.linalg.norm(found - values) / max(float(np.linalg.norm(values)), 1e-30)) if len(values) else 0.0
