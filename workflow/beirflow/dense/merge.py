"""Merge the candidates of all chunks into one run."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.dense.vectors import origin_of
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import read_json, write_json
from beirflow.files.verified import check_origin
from beirflow.files.writing import atomic_path
from beirflow.runs.candidates import Candidates, read_candidates
from beirflow.runs.ranking import Hits, byte_order, merge_hits
from beirflow.runs.run_file import RUN

CANDIDATES = 1 << 24
"""Candidates beyond which they are cut to the k best; these and one more chunk's are sorted at once, some 70 bytes each."""

RUN_ROWS = 1 << 20
"""Rows of a run that are looked up and written at once."""


def merge_chunks(
    *,
    system: str,
    candidate_paths: list[str],
    query_record_path: str,
    chunk_record_paths: list[str],
    queries_path: str,
    documents_path: str,
    model_path: str,
    top_k: int,
    run_path: str,
    record_path: str,
    code: str = "",
) -> None:
    """Merge the candidates of all chunks, cut at k, and record where the run comes from.

    Args:
        system: Name of the system.
        candidate_paths: What ``search_chunk`` wrote for chunk 0, 1, ….
        query_record_path: What ``encode_queries`` recorded.
        chunk_record_paths: What ``encode_chunk`` recorded for chunk 0, 1, ….
        queries_path: ``queries.parquet``, with ``corpus.json`` beside it.
        documents_path: ``documents.parquet``.
        model_path: What ``fetch_model`` wrote about the model.
        top_k: Documents to keep for each query.
        run_path: Parquet to write: ``query_id``, ``doc_id``, ``score``, ``rank``.
        record_path: JSON to write: counts, digests of what the run was computed from, and the time it all took.
        code: Digest of the code that runs, for the record.

    Raises:
        DataError: A file is not the one that was recorded, or the chunks were not all encoded with this model, from this corpus,
            in the same precision.
    """
    start = time.perf_counter()
    record_paths = [query_record_path, *chunk_record_paths]
    records = [read_json(path) for path in record_paths]
    for path, record in zip(record_paths, records, strict=True):
        source_path = queries_path if path == query_record_path else documents_path
        check_origin(path, record, origin_of(system, source_path, model_path))
    _check_precision(records, record_paths)
    query_ids = read_table(queries_path)["query_id"].combine_chunks()
    doc_ids, first_rows = _read_ids(documents_path, records[1:])
    vectors = [[records[0]["sha256"], record["sha256"]] for record in records[1:]]
    found, ranks = _merge_candidates(list(zip(candidate_paths, vectors, strict=True)), len(query_ids), first_rows, doc_ids, top_k)
    with atomic_path(run_path) as partial, pq.ParquetWriter(partial, RUN, compression="zstd") as writer:
        for start_row in range(0, len(found.query), RUN_ROWS):
            part = slice(start_row, start_row + RUN_ROWS)
            ids = [query_ids.take(pa.array(found.query[part])), doc_ids.take(pa.array(found.row[part]))]
            writer.write_table(pa.table([*ids, found.score[part], ranks[part]], schema=RUN))
    seconds = {
        "load": sum(record["seconds"]["load"] for record in records),
        "encode_queries": records[0]["seconds"]["encode"],
        "encode_documents": sum(record["seconds"]["encode"] for record in records[1:]),
        "search": found.seconds,
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
            "self_matches_dropped": found.self_matches,
            "documents_taken_over": sum(record["taken_over"]["documents"] for record in records[1:] if "taken_over" in record),
            "tokens": sum(record["tokens"] for record in records[1:]),
            "truncated_documents": sum(record["truncated_texts"] for record in records[1:]),
            "seconds": seconds,
            "code": code,
            "search_code": found.code.split(),
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


def _check_precision(records: list[dict[str, Any]], paths: list[str]) -> None:
    """All vectors have the same precision."""
    for record, path in zip(records, paths, strict=True):
        found, expected = record["precision"], records[0]["precision"]
        if found != expected:
            todo = f"name a precision in the configuration, or encode again after: rm {Path(path).parent}/*"
            raise DataError(f"{path}: encoded with precision {found}, but {paths[0]} with {expected}; {todo}")


def _read_ids(documents_path: str, records: list[dict[str, Any]]) -> tuple[pa.Array, np.ndarray]:
    """Ids of all documents in the order of the file, and the first row of each chunk; there are vectors of all of them."""
    with Documents(documents_path) as file:
        sizes, rows = file.sizes, [record["rows"] for record in records]
        if rows != sizes:
            found = f"chunks of {sizes} documents, but vectors for {rows}"
            raise DataError(
                f"{documents_path}: {found}; the vectors are not those of its chunks; delete the vectors and run again"
            )
        ids = file.read(range(len(sizes)), ["doc_id"])["doc_id"].combine_chunks()
    return ids, np.concatenate([[0], np.cumsum(sizes)])


def _merge_candidates(
    files: list[tuple[str, list[str]]], queries: int, first_rows: np.ndarray, doc_ids: pa.Array, k: int
) -> tuple[Candidates, np.ndarray]:
    """The k best of each query, by their rows in the corpus, sorted by query and rank; and their ranks.

    Each file comes with the digests of the vectors that it must have been found in.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks; from
    then on only those are kept that score at least as high as the k-th, which leaves fewer from each chunk.
    """

    def id_order(rows: np.ndarray) -> np.ndarray:
        """Looked up where scores tie alone: millions of ids are slow to sort."""
        return byte_order(doc_ids.take(pa.array(rows)))

    parts: list[Hits] = []
    least = np.full(queries, -np.inf, np.float32)
    self_matches, seconds = 0, 0.0
    codes: set[str] = set()
    for first_row, (path, vectors) in zip(first_rows, files, strict=False):
        found = read_candidates(path, vectors, k)
        may_stay = found.score >= least[found.query]
        rows = (found.row[may_stay] + first_row).astype(np.int32)
        parts.append((found.query[may_stay], rows, found.score[may_stay]))
        self_matches, seconds, codes = self_matches + found.self_matches, seconds + found.seconds, codes | {found.code}
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            query, row, score, ranks = merge_hits(parts, id_order, k)
            parts = [(query, row, score)]
            least[query[ranks == k]] = score[ranks == k]
    query, row, score, ranks = merge_hits(parts, id_order, k)
    return Candidates(query, row, score, self_matches, seconds, " ".join(sorted(codes))), ranks
