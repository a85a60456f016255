"""Prepare a corpus: read it, sort it by length, deal it to chunks, and write it as Parquet, a row group a chunk.

Memory is bounded by one chunk plus a few numbers a document: texts wait on disk until their chunk is written.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.beir_files import Source, read_documents
from beirflow.errors import DataError
from beirflow.files import atomic_path, file_digest, write_json
from beirflow.progress import Progress
from beirflow.queries import read_judged_queries

logger = logging.getLogger(__name__)

DOCUMENTS = pa.schema([("doc_id", pa.string()), ("text", pa.large_string())])
BATCH_DOCUMENTS = 20_000
OPEN_FILES = 128


@dataclass
class Scan:
    """What one pass over a corpus leaves in memory, one entry a document in the order of the file.

    Attributes:
        ids: Document ids.
        lines: Line numbers, int64.
        lengths: Lengths of the joined texts in characters, int64.
        text_keys: 64-bit hashes of the texts, uint64.
    """

    ids: pa.Array
    lines: np.ndarray
    lengths: np.ndarray
    text_keys: np.ndarray


def prepare_corpus(
    *,
    source_path: str,
    forum: str | None,
    split: str,
    chunks: int,
    expected: dict[str, Any],
    documents_path: str,
    queries_path: str,
    qrels_path: str,
    summary_path: str,
) -> None:
    """Turn a dataset in BEIR form into the files that every system works from.

    Args:
        source_path: Folder or archive of the dataset.
        forum: Folder of a forum inside it, or None.
        split: Name of the judgements.
        chunks: Number of row groups to write.
        expected: What the catalogue says: ``documents`` and ``queries``, counts or None, and ``files``, sha256 by path.
        documents_path: Parquet of ``doc_id`` and ``text``; row group i is chunk i, longest document first.
        queries_path: Parquet of ``query_id`` and ``text``: the judged queries, in byte order of their ids.
        qrels_path: Parquet of ``query_id``, ``doc_id``, ``score``, in byte order of query and document.
        summary_path: JSON with counts, digests and length statistics.

    Raises:
        DataError: The dataset is not what it should be; nothing has been written then.
    """
    source = Source(source_path, forum)
    queries, qrels = read_judged_queries(source, split)
    with _scratch_folder(Path(documents_path)) as scratch:
        scan = _scan(source, scratch / "spill.arrow", expected["documents"])
        _check_documents(source, scan, expected["documents"])
        order, chunk_of = deal(scan, chunks)
        with atomic_path(documents_path) as partial:
            _write_documents(partial, scratch, order, chunk_of, chunks)
    for table, path in ((queries, queries_path), (qrels, qrels_path)):
        with atomic_path(path) as partial:
            pq.write_table(table, partial, compression="zstd")
    missing = _judged_but_missing(qrels, scan.ids)
    if missing.num_rows:
        where, first = source.where(f"qrels/{split}.tsv"), missing["doc_id"][0].as_py()
        logger.warning("%s: judged but not in the corpus: %d, the first is the document %r", where, missing.num_rows, first)
    written = {Path(path).name: file_digest(path) for path in (documents_path, queries_path, qrels_path)}
    write_json(
        summary_path,
        {
            "split": split,
            "chunks": chunks,
            "documents": len(scan.ids),
            "distinct_texts": len(np.unique(scan.text_keys)),
            "queries": queries.num_rows,
            "judgements": qrels.num_rows,
            "positives": pc.sum(pc.greater(qrels["score"], 0)).as_py(),
            "judgements_without_document": missing.num_rows,
            "official": _compare(source, expected, queries.num_rows),
            "characters": _length_statistics(scan.lengths),
            "source_sha256": source.digests,
            "sha256": written,
        },
    )


@contextmanager
def _scratch_folder(beside: Path) -> Iterator[Path]:
    """An empty folder on the output's disk; its name is always the same, so that a killed job leaves nothing for good."""
    folder = beside.parent / ".partial-prepare"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _scan(source: Source, spill: Path, expected: int | None) -> Scan:
    """Read the corpus once; texts go to the spill file, what orders them stays."""
    ids, lines, lengths, keys = [], [], [], []
    with (
        pa.OSFile(str(spill), "wb") as sink,
        pa.ipc.new_file(sink, DOCUMENTS) as writer,
        Progress(f"prepare {source.where('corpus.jsonl')}", expected, "documents") as progress,
    ):
        for numbers, batch in _batches(source):
            writer.write_batch(batch)
            ids.append(batch["doc_id"])
            lines.append(numbers)
            lengths.append(pc.utf8_length(batch["text"]).to_numpy())
            keys.append(_hash(batch["text"]))
            progress.advance(batch.num_rows)
    if not ids:
        raise DataError(f"{source.where('corpus.jsonl')}: the corpus is empty; at least one document was expected")
    return Scan(pa.concat_arrays(ids), *(np.concatenate(parts) for parts in (lines, lengths, keys)))


def _batches(source: Source) -> Iterator[tuple[np.ndarray, pa.RecordBatch]]:
    """Documents in the order of the file, with their line numbers."""
    rows: list[tuple[int, str, str]] = []
    for row in read_documents(source):
        rows.append(row)
        if len(rows) == BATCH_DOCUMENTS:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[int, str, str]]) -> tuple[np.ndarray, pa.RecordBatch]:
    numbers, ids, texts = zip(*rows, strict=True)
    batch = pa.record_batch([pa.array(ids, pa.string()), pa.array(texts, pa.large_string())], schema=DOCUMENTS)
    return np.array(numbers, dtype=np.int64), batch


def _hash(strings: pa.Array) -> np.ndarray:
    """64-bit hashes of strings, the same in every process."""
    return pd.util.hash_array(strings.to_numpy(zero_copy_only=False), categorize=False)


def _check_documents(source: Source, scan: Scan, expected: int | None) -> None:
    """No id twice, and as many documents as the catalogue says."""
    where = source.where("corpus.jsonl")
    keys = _hash(scan.ids)
    suspects = np.flatnonzero(pd.Series(keys).duplicated(keep=False))
    first_line: dict[str, int] = {}
    for row in suspects:
        doc_id, line = scan.ids[int(row)].as_py(), int(scan.lines[row])
        if doc_id in first_line:
            raise DataError(
                f"{where}:{line}: the document id {doc_id!r} stands in line {first_line[doc_id]} already; ids must be unique"
            )
        first_line[doc_id] = line
    if expected is not None and len(scan.ids) != expected:
        raise DataError(
            f"{where}: expected {expected:,} documents, found {len(scan.ids):,}; is this another version of the dataset,"
            " or a part of it? A dataset of your own goes under custom.datasets with a name of its own"
        )


def deal(scan: Scan, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort documents by length and deal them to chunks in turn, so that every chunk has the same mix of lengths.

    Documents with the same text stay together: they are encoded once, and so are ties whatever the number of chunks.

    Args:
        scan: The corpus, n documents.
        chunks: Number of chunks.

    Returns:
        ``order``, int64 of shape (n,): rows of the corpus, longest first, equal lengths in byte order of their ids; and
        ``chunk_of``, int64 of shape (n,): the chunk of each row of the corpus.
    """
    keys = pa.table({"length": scan.lengths, "doc_id": scan.ids})
    order = pc.sort_indices(keys, sort_keys=[("length", "descending"), ("doc_id", "ascending")]).to_numpy().astype(np.int64)
    turn, _ = pd.factorize(scan.text_keys[order])
    chunk_of = np.empty(len(order), dtype=np.int64)
    chunk_of[order] = turn % chunks
    return order, chunk_of


def _write_documents(path: Path, scratch: Path, order: np.ndarray, chunk_of: np.ndarray, chunks: int) -> None:
    """Write the chunks as row groups, from the texts in the spill file."""
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    with pq.ParquetWriter(path, DOCUMENTS, compression="zstd", use_dictionary=False, write_statistics=False) as writer:
        for chunk, table in enumerate(_gather_chunks(scratch, chunk_of, chunks)):
            rows = np.flatnonzero(chunk_of == chunk)
            table = table.take(pa.array(np.argsort(position[rows])))
            writer.write_table(table, row_group_size=max(1, table.num_rows))


def _gather_chunks(scratch: Path, chunk_of: np.ndarray, chunks: int) -> Iterator[pa.Table]:
    """The documents of each chunk in turn, in the order of the corpus file.

    Each pass over the spill file deals out as many chunks as may be open at once, so that everything is read and written in
    sequence, whatever the disk.
    """
    for first in range(0, chunks, OPEN_FILES):
        group = range(first, min(first + OPEN_FILES, chunks))
        paths = [scratch / f"chunk-{chunk}.arrow" for chunk in group]
        with ExitStack() as stack:
            writers = [stack.enter_context(pa.ipc.new_file(str(path), DOCUMENTS)) for path in paths]
            for rows, batch in _read_spill(scratch / "spill.arrow"):
                chunk_of_rows = chunk_of[rows]
                by_chunk = np.argsort(chunk_of_rows, kind="stable")
                bounds = np.searchsorted(chunk_of_rows[by_chunk], [*group, group.stop])
                for writer, start, stop in zip(writers, bounds[:-1], bounds[1:], strict=True):
                    if stop > start:
                        writer.write_batch(batch.take(pa.array(by_chunk[start:stop])))
        for path in paths:
            with pa.OSFile(str(path), "rb") as stream:
                yield pa.ipc.open_file(stream).read_all()
            path.unlink()


def _read_spill(path: Path) -> Iterator[tuple[slice, pa.RecordBatch]]:
    row = 0
    with pa.OSFile(str(path), "rb") as stream:
        reader = pa.ipc.open_file(stream)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            yield slice(row, row + batch.num_rows), batch
            row += batch.num_rows


def _judged_but_missing(qrels: pa.Table, ids: pa.Array) -> pa.Table:
    """The judgements whose document is not in the corpus."""
    judged = pc.unique(qrels["doc_id"])
    present = ids.filter(pc.is_in(ids, value_set=judged))
    return qrels.filter(pc.invert(pc.is_in(qrels["doc_id"], value_set=present)))


def _compare(source: Source, expected: dict[str, Any], queries: int) -> bool | None:
    """Whether this is the official data: None where the catalogue does not know, a warning where it is not."""
    differences = [
        f"{source.where(name)}: sha256 {source.digests[name]}, expected {digest}"
        for name, digest in expected["files"].items()
        if source.digests.get(name, digest) != digest
    ]
    if expected["queries"] not in (None, queries):
        differences.append(f"{queries} judged queries, expected {expected['queries']}")
    for difference in differences:
        logger.warning("this is not the official data, so no published score is comparable: %s", difference)
    if differences:
        return False
    return True if expected["files"] else None


def _length_statistics(lengths: np.ndarray) -> dict[str, float]:
    """Lengths of the joined texts in characters."""
    quantiles = dict(zip(("median", "p90", "p99"), np.quantile(lengths, [0.5, 0.9, 0.99]).tolist(), strict=True))
    return {"min": int(lengths.min()), "mean": float(lengths.mean()), **quantiles, "max": int(lengths.max())}
