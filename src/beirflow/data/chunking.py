"""Deal the documents of a corpus to chunks: texts wait on disk until their chunk is written.

The spill file holds the texts in the order of the corpus, one after another as UTF-8; where each begins follows from the lengths
that the scan keeps. A small one is read where it is; a larger one is read and written in sequence, whatever the disk. Memory
holds one chunk.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.background import map_ahead
from beirflow.core.writing import DigestingWriter
from beirflow.data.corpus_reader import DOCUMENTS

SPILL_ROWS = 20_000
OPEN_FILES = 128

TAKEN_ROWS = 1 << 14  # texts that are taken at once; of a multiple of 1024, Parquet makes the pages that it makes of all at once

MAPPED_BYTES = 1 << 29
"""So many are read in any order, since the system keeps them in its memory; of more, each chunk's are put together first."""


@dataclass
class Scan:
    """Memory of one pass over a corpus, one entry per document in the order of the file."""

    ids: pa.Array  # document ids, large_string
    characters: np.ndarray  # lengths of the joined texts in characters, int64
    sizes: np.ndarray  # lengths of the joined texts in bytes, int64
    title_bytes: np.ndarray  # lengths of the titles in bytes, int32
    first_equal: np.ndarray  # row of the first document that has the same text, int32


def first_equal_texts(fingerprints: np.ndarray, sizes: np.ndarray, spill: Path) -> np.ndarray:
    """Return for each of n documents the row of the first one with the same text, int32 of shape (n,).

    ``fingerprints`` are equal for equal texts, and ``sizes`` the lengths in bytes, int64, both of shape (n,). Texts that
    share a fingerprint are read again from ``spill`` and compared by a digest of 128 bits.
    """
    # Equal fingerprints are neighbours in this order; all other texts are unique and not read again.
    order = np.argsort(fingerprints)
    same_as_next = fingerprints[order][1:] == fingerprints[order][:-1]
    suspects = np.sort(order[np.append(same_as_next, False) | np.append(False, same_as_next)])
    first_equal = np.arange(len(sizes), dtype=np.int32)
    first_row: dict[bytes, int] = {}
    starts = np.cumsum(sizes) - sizes
    with spill.open("rb") as stream:
        for row in suspects.tolist():
            stream.seek(int(starts[row]))
            digest = hashlib.blake2b(stream.read(int(sizes[row])), digest_size=16).digest()
            first_equal[row] = first_row.setdefault(digest, row)
    return first_equal


def taken(scan: Scan, rows: np.ndarray, spill: Path) -> Scan:
    """Restrict a corpus to ascending rows; the texts of the other documents leave the spill file."""
    chosen = np.zeros(len(scan.sizes), bool)
    chosen[rows] = True
    rest = spill.with_name("taken.txt")
    with rest.open("wb") as stream:
        for some, texts in _read_spill(spill, scan.sizes):
            stream.write(text_bytes(_strings(texts, scan.sizes[some]).filter(pa.array(chosen[some]))))
    rest.replace(spill)
    _, first, text = np.unique(scan.first_equal[rows], return_index=True, return_inverse=True)
    return Scan(
        ids=scan.ids.take(pa.array(rows)),
        characters=scan.characters[rows],
        sizes=scan.sizes[rows],
        title_bytes=scan.title_bytes[rows],
        first_equal=first.astype(np.int32)[text],
    )


def deal(scan: Scan, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort documents by length and deal them to chunks in turn, so that every chunk has the same mix of lengths.

    Documents with the same text stay together: they are encoded once, and so are ties whatever the number of chunks.

    Args:
        scan: The corpus, n documents.
        chunks: Number of chunks.

    Returns:
        ``order``, int32 of shape (n,): rows of the corpus, longest first, equal lengths in byte order of their ids; and
        ``chunk_of``, int32 of shape (n,): the chunk of each row of the corpus.
    """
    keys = pa.table({"length": scan.characters, "doc_id": scan.ids})
    order = pc.sort_indices(keys, sort_keys=[("length", "descending"), ("doc_id", "ascending")]).to_numpy().astype(np.int32)
    text = scan.first_equal[order]
    places = np.arange(len(order), dtype=np.int32)
    first_place = np.empty_like(places)
    first_place[text[::-1]] = places[::-1]  # of several places of a text the last that is written stays: its first
    turn = np.cumsum(first_place[text] == places, dtype=np.int32) - 1
    chunk_of = np.empty_like(places)
    chunk_of[order] = turn[first_place[text]] % chunks
    return order, chunk_of


def write_documents(stream: DigestingWriter, scratch: Path, scan: Scan, chunks: int, threads: int) -> None:
    """Write the chunks as row groups of a Parquet file, from the texts in the spill file in ``scratch``.

    ``threads`` sort.
    """
    order, chunk_of = deal(scan, chunks)
    chunk_in_order = chunk_of[order]
    spill = spill_path(scratch)
    in_place = chunks == 1 or spill.stat().st_size <= MAPPED_BYTES
    paths = repeat(spill, chunks) if in_place else _part_texts(scratch, scan.sizes, chunk_of, chunks, threads)

    sink = pa.PythonFile(stream, mode="w")
    # With a checksum on each page, a reader can check one chunk without reading the others.
    how = {"compression": "snappy", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
    with pq.ParquetWriter(sink, DOCUMENTS, **how) as writer:
        for chunk, texts_path in enumerate(paths):
            rows = order[chunk_in_order == chunk]
            # A function holds the texts, so that those of one chunk are gone before the next are read.
            writer.write_table(_documents(texts_path, scan, rows, threads, in_place=in_place), row_group_size=max(1, len(rows)))


def _documents(texts_path: Path, scan: Scan, rows: np.ndarray, threads: int, *, in_place: bool) -> pa.Table:
    """Return documents of a corpus from a file with all of its texts, or with theirs alone, in the order of the corpus."""
    sizes, places = (scan.sizes, rows) if in_place else (scan.sizes[np.sort(rows)], np.argsort(np.argsort(rows)))
    texts = _strings(pa.memory_map(str(texts_path)).read_buffer(), sizes)
    parts = [pa.array(places[start : start + TAKEN_ROWS]) for start in range(0, len(places), TAKEN_ROWS)]
    texts = pa.chunked_array(list(map_ahead(texts.take, parts, threads)), texts.type)
    ids, title_bytes = scan.ids.take(pa.array(rows)).cast(pa.string()), pa.array(scan.title_bytes[rows])
    return pa.Table.from_arrays([ids, texts, title_bytes], schema=DOCUMENTS)


def _part_texts(scratch: Path, sizes: np.ndarray, chunk_of: np.ndarray, chunks: int, threads: int) -> Iterator[Path]:
    """Yield files with the texts of each chunk in turn, in the order of the corpus; each is gone when the next is asked for."""

    def by_chunk(rows_and_texts: tuple[slice, bytes]) -> tuple[np.ndarray, pa.Array]:
        """Return the chunk of each text, in ascending order, and the texts in that order."""
        rows, texts = rows_and_texts
        order = np.argsort(chunk_of[rows], kind="stable")
        return chunk_of[rows][order], _strings(texts, sizes[rows]).take(pa.array(order))

    for first in range(0, chunks, OPEN_FILES):
        group = range(first, min(first + OPEN_FILES, chunks))
        paths = [scratch / f"chunk-{chunk}.txt" for chunk in group]
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in paths]
            for chunk_of_texts, texts in map_ahead(by_chunk, _read_spill(spill_path(scratch), sizes), threads):
                bounds = np.searchsorted(chunk_of_texts, [*group, group.stop])
                for file, start, stop in zip(files, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                    file.write(text_bytes(texts.slice(start, stop - start)))
        for path in paths:
            yield path
            path.unlink()


def spill_path(scratch: Path) -> Path:
    """Return the path of the spill file in a scratch folder."""
    return scratch / "spill.txt"


def text_bytes(texts: pa.Array) -> memoryview:
    """Return the texts of an array, one after another in UTF-8, without a copy."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
    return memoryview(data or b"")[bounds[0] : bounds[1]]


def _read_spill(path: Path, sizes: np.ndarray) -> Iterator[tuple[slice, bytes]]:
    """Yield the texts in the order of the corpus, some at a time, with their rows."""
    with path.open("rb") as stream:
        for start in range(0, len(sizes), SPILL_ROWS):
            rows = slice(start, min(start + SPILL_ROWS, len(sizes)))
            yield rows, stream.read(int(sizes[rows].sum()))


def _strings(data: bytes | pa.Buffer, sizes: np.ndarray) -> pa.Array:
    """Return an array of texts that are stored one after another, without a copy."""
    offsets = pa.py_buffer(np.concatenate([[0], np.cumsum(sizes)]))
    return pa.Array.from_buffers(pa.large_string(), len(sizes), [None, offsets, pa.py_buffer(data)])
