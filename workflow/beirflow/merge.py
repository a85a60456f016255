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
"""Candidates beyond which they are cut to the k best; these and one more chunk's are sorted at once, some 70 bytes each."""

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

    Raises:
        DataError: The chunks were not encoded with the same model in the same precision.
    """
    start = time.perf_counter()
    records = [read_json(path) for path in (query_record_path, *chunk_record_paths)]
    _check_alike(records, [query_record_path, *chunk_record_paths])
    _check_complete(records[1:], documents_path)
    query_ids = pq.read_table(queries_path, columns=["query_id"])["query_id"].combine_chunks()
    doc_ids, first_rows = _read_ids(documents_path)
    query, row, score, ranks = _merge_candidates(candidate_paths, len(query_ids), first_rows, doc_ids, top_k)
    with atomic_path(run_path) as partial, pq.ParquetWriter(partial, RUN, compression="zstd") as writer:
        for start_row in range(0, len(query), RUN_ROWS):
            part = slice(start_row, start_row + RUN_ROWS)
            columns = [query_ids.take(pa.array(query[part])), doc_ids.take(pa.array(row[part])), score[part], ranks[part]]
            writer.write_table(pa.Table.from_arrays([pa.array(column) for column in columns], schema=RUN))
    self_matches, search_seconds = (sum(counts) for counts in zip(*map(_counts, candidate_paths), strict=True))
    seconds = {
        "load": sum(record["seconds"]["load"] for record in records),
        "encode_queries": records[0]["seconds"]["encode"],
        "encode_documents": sum(record["seconds"]["encode"] for record in records[1:]),
        "search": search_seconds,
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
            "self_matches_dropped": self_matches,
            "documents_taken_over": sum(record["taken_over"]["documents"] for record in records[1:] if "taken_over" in record),
            "tokens": sum(record["tokens"] for record in records[1:]),
            "truncated_documents": sum(record["truncated_texts"] for record in records[1:]),
            "seconds": seconds,
            "sha256": file_digest(run_path),
            "from_sha256": {
                "model": records[0]["from_sha256"]["model"],
                "queries.parquet": records[0]["from_sha256"]["queries.parquet"],
                "documents.parquet": records[1]["from_sha256"]["documents.parquet"],
                "queries.npy": records[0]["sha256"],
                "chunks": [record["sha256"] for record in records[1:]],
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


def _counts(candidates_path: str) -> tuple[int, float]:
    """Documents dropped and seconds taken in the search of a chunk; of hundreds of chunks not all files may be open at once."""
    with np.load(candidates_path, allow_pickle=False) as found:
        return int(found["self_matches"]), float(found["seconds"])


def _merge_candidates(
    paths: list[str], queries: int, first_rows: np.ndarray, doc_ids: pa.Array, k: int
) -> tuple[np.ndarray, ...]:
    """Number of the query, row in the corpus, score and rank of the k best of each query, sorted by query and rank.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks; from
    then on only those are kept that score at least as high as the k-th, which leaves fewer from each chunk.
    """

    def id_order(rows: np.ndarray) -> np.ndarray:
        """Looked up where scores tie alone: millions of ids are slow to sort."""
        return byte_order(doc_ids.take(pa.array(rows)))

    parts: list[Hits] = []
    least = np.full(queries, -np.inf, np.float32)
    for chunk, path in enumerate(paths):
        with np.load(path, allow_pickle=False) as found:
            query, row, score = found["query"], (found["row"] + first_rows[chunk]).astype(np.int32), found["score"]
        may_stay = score >= least[query]
        parts.append((query[may_stay], row[may_stay], score[may_stay]))
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            query, row, score, ranks = merge_hits(parts, id_order, k)
            parts = [(query, row, score)]
            least[query[ranks == k]] = score[ranks == k]
    return merge_hits(parts, id_order, k)
