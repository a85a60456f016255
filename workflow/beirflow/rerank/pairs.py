"""Pair scores on disk: a block of queries, each with its documents in the order of the first stage."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.files.errors import DataError
from beirflow.files.layout import record_of
from beirflow.files.records import output_digest, read_json
from beirflow.files.verified import check_digest, parquet_errors
from beirflow.files.writing import atomic_path

PAIRS = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32())])

SCORER_CODE = "scorer_code"
"""Key, in ``made`` of the record, of the digest of the code that was imported by name."""

logger = logging.getLogger(__name__)


def pairs_of_block(run: pa.Table, query_ids: pa.Array, depth: int, block: int, blocks: int) -> pa.Table:
    """The pairs that a block scores.

    Args:
        run: The run of the first stage, sorted by query and rank.
        query_ids: All queries, in byte order.
        depth: Documents of each query.
        block: Number of the block.
        blocks: How many blocks there are.

    Returns:
        ``query_id`` and ``doc_id`` of the first documents of each query of the block.
    """
    first, last = (number * len(query_ids) // blocks for number in (block, block + 1))
    chosen = pc.and_(pc.is_in(run["query_id"], value_set=query_ids.slice(first, last - first)), pc.less_equal(run["rank"], depth))
    return run.filter(chosen).select(["query_id", "doc_id"])


def write_pairs(path: str | Path, pairs: pa.Table, scores: np.ndarray) -> None:
    """Write pairs with their scores.

    Args:
        path: Parquet to write.
        pairs: n pairs, ``query_id`` and ``doc_id``.
        scores: float32 of shape (n,).
    """
    with atomic_path(path) as partial:
        pq.write_table(pa.table([*pairs.columns, scores], schema=PAIRS), partial, compression="zstd")


def read_pairs(path: str | Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read pairs.

    Args:
        path: The Parquet file, next to its record.

    Returns:
        The pairs, with the columns of ``PAIRS``, and the record.

    Raises:
        DataError: The file is not the one that was recorded.
    """
    record = read_json(record_of(path))
    check_digest(path, output_digest(record, path), record_of(path))
    with parquet_errors(path):
        return pq.read_table(path), record


def kept_scores(path: str | Path, pairs: pa.Table, expected: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, str] | None]:
    """Scores that an earlier job left for the same pairs.

    Args:
        path: Where it left them, if there was one.
        pairs: n pairs that scores are needed of.
        expected: Keys of the record or of its ``made``, ``inputs`` among them, of which all must be as they are now.

    Returns:
        float32 of shape (n,), not-a-number where there is none; and what they were made with, None where none is used.
    """
    scores = np.full(pairs.num_rows, np.nan, np.float32)
    try:
        before, record = read_pairs(path)
    except (FileNotFoundError, DataError) as error:
        logger.info("no stored scores are reused: %s", error)
        return scores, None
    stated = {**record["made"], **record}
    changed = [key for key, value in expected.items() if key != "inputs" and stated.get(key) != value]
    changed += [name for name, digest in expected["inputs"].items() if record["inputs"].get(name) != digest]
    if changed:
        logger.info("no stored scores are reused: %s changed", ", ".join(changed))
        return scores, None
    known = dict(zip(_keys(before), before["score"].to_pylist(), strict=True))
    return np.array([known.get(key, np.nan) for key in _keys(pairs)], np.float32).reshape(len(scores)), record["made"]


def _keys(pairs: pa.Table) -> list[tuple[str, str]]:
    return list(zip(pairs["query_id"].to_pylist(), pairs["doc_id"].to_pylist(), strict=True))
