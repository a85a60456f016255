"""Merge the candidates of all chunks into one run."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.errors import DataError
from beirflow.files import atomic_path, file_digest, read_json, write_json
from beirflow.ranking import Hits, byte_order, merge_hits
from beirflow.runs import RUN

CANDIDATES = 1 << 24
"""Candidates that are sorted at once, or twice those of one chunk where these are more; some 40 bytes each."""

RUN_ROWS = 1 << 20
"""Rows of a run that are looked up and written at once."""


def merge_chunks(
    *,
    candidate_paths: list[str],
    query_record_path: str,
    chunk_record_paths: list[str],
    queries_path: str,
    documents_path: str,
    top_k: int,
    run_path: str,
    record_path: str,
    code: str = "",
) -> None:
    """Merge the candidates of all chunks, cut at k, and record where the run comes from.

    Args:
        candidate_paths: What ``search_chunk`` wrote for chunk 0, 1, ….
        query_record_path: What ``encode_queries`` recorded.
        chunk_record_paths: What ``encode_chunk`` recorded for chunk 0, 1, ….
        queries_path: ``queries.parquet``.
        documents_path: ``documents.parquet``.
        top_k: Documents to keep for each query.
        run_path: Parquet to write: ``query_id``, ``doc_id``, ``score``, ``rank``.
        record_path: JSON to write: counts, digests of what the run was computed from, and the time it all took.
        code: Digest of the code that runs, for the record.

    Raises:
        DataError: The chunks were not encoded with the same model in the same precision.
    """
    start = time.perf_counter()
    records = [read_json(path) for path in (query_record_path, *chunk_record_paths)]
    _check_alike(records, [query_record_path, *chunk_record_paths])
    _check_complete(records[1:], documents_path)
    query_ids = pq.read_table(queries_path, columns=["query_id"])["query_id"].combine_chunks()
    doc_ids, first_rows = _read_ids(documents_path)
    query, row, score, ranks = _merge_candidates(candidate_paths, first_rows, doc_ids, top_k)
    with atomic_path(run_path) as partial, pq.ParquetWriter(partial, RUN, compression="zstd") as writer:
        for start_row in range(0, len(query), RUN_ROWS):
            part = slice(start_row, start_row + RUN_ROWS)
            columns = [query_ids.take(pa.array(query[part])), doc_ids.take(pa.array(row[part])), score[part], ranks[part]]
            writer.write_table(pa.Table.from_arrays([pa.array(column) for column in columns], schema=RUN))
    candidates = [np.load(path) for path in candidate_paths]
    seconds = {
        "load": sum(record["seconds"]["load"] for record in records),
        "encode_queries": records[0]["seconds"]["encode"],
        "encode_documents": sum(record["seconds"]["encode"] for record in records[1:]),
        "search": sum(float(found["seconds"]) for found in candidates),
        "merge": time.perf_counter() - start,
    }
    shared = {key: records[0][key] for key in ("system", "precision", "dim")}
    write_json(
        record_path,
        {
            **shared,
            "devices": _all_of(records, "device"),
            "torch": _all_of(records, "torch"),
            "transformers": _all_of(records, "transformers"),
            "top_k": top_k,
            "self_matches_dropped": sum(int(found["self_matches"]) for found in candidates),
            "documents_taken_over": sum(record["taken_over"]["documents"] for record in records[1:] if "taken_over" in record),
            "tokens": sum(record["tokens"] for record in records[1:]),
            "truncated_documents": sum(record["truncated_texts"] for record in records[1:]),
            "seconds": seconds,
            "code": code,
            "search_code": sorted({str(found["code"]) for found in candidates if "code" in found}),
            "sha256": file_digest(run_path),
            "from_sha256": {
                "model": records[0]["from_sha256"]["model"],
                "queries.parquet": records[0]["from_sha256"]["queries.parquet"],
                "documents.parquet": records[1]["from_sha256"]["documents.parquet"],
                "queries.npy": records[0]["sha256"],
                "chunks": [record["sha256"] for record in records[1:]],
                "queries.json": file_digest(query_record_path),
                "chunk records": [file_digest(path) for path in chunk_record_paths],
            },
        },
    )


def _all_of(records: list[dict[str, Any]], key: str) -> list[str]:
    """What all vectors were made with, those of another dataset included."""
    return sorted({record[key] for record in records}.union(*(record.get("taken_over", {}).get(key, ()) for record in records)))


def _check_alike(records: list[dict[str, Any]], paths: list[str]) -> None:
    """All vectors come from the same model in the same precision."""
    for record, path in zip(records, paths, strict=True):
        for key, found, expected in (
            ("model", record["from_sha256"]["model"], records[0]["from_sha256"]["model"]),
            ("precision", record["precision"], records[0]["precision"]),
        ):
            if found != expected:
                todo = f"name a precision in the configuration, or encode again after: rm {Path(path).parent}/*"
                raise DataError(f"{path}: encoded with {key} {found}, but {paths[0]} with {expected}; {todo}")


def _check_complete(records: list[dict[str, Any]], documents_path: str) -> None:
    """The vectors are those of all chunks of the corpus as it is now."""
    with pq.ParquetFile(documents_path) as file:
        expected = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    found = [record["rows"] for record in records]
    digests = {record["from_sha256"]["documents.parquet"] for record in records}
    if found != expected or len(digests) > 1:
        what = f"chunks of {expected} documents, but vectors for {found}, from {len(digests)} versions of the corpus"
        raise DataError(
            f"{documents_path}: {what}; the corpus was prepared again after it was encoded; delete the vectors and run again"
        )


def _read_ids(documents_path: str) -> tuple[pa.Array, np.ndarray]:
    """Ids of all documents in the order of the file, and the first row of each chunk."""
    with pq.ParquetFile(documents_path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        ids = file.read(columns=["doc_id"])["doc_id"].combine_chunks()
    return ids, np.concatenate([[0], np.cumsum(sizes)])


def _merge_candidates(paths: list[str], first_rows: np.ndarray, doc_ids: pa.Array, k: int) -> tuple[np.ndarray, ...]:
    """Number of the query, row in the corpus, score and rank of the k best of each query, sorted by query and rank.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks.
    """

    def id_order(rows: np.ndarray) -> np.ndarray:
        """Looked up where scores tie alone: millions of ids are slow to sort."""
        return byte_order(doc_ids.take(pa.array(rows)))

    parts: list[Hits] = []
    for chunk, path in enumerate(paths):
        with np.load(path, allow_pickle=False) as found:
            parts.append((found["query"], (found["row"] + first_rows[chunk]).astype(np.int32), found["score"]))
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            parts = [merge_hits(parts, id_order, k)[:3]]
    return merge_hits(parts, id_order, k)
