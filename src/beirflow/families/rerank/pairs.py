"""Pair scores on disk: a block of queries, each with its documents in the order of the first stage."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core import layout
from beirflow.core.artifact import Artifact, Stream
from beirflow.core.errors import DataError
from beirflow.core.verified import reading

PAIRS = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32())])

SCORER_CODE = "scorer_code"  # key, in ``made`` of the record, of the digest of the code that was imported by name

logger = logging.getLogger(__name__)


class Pairs(Artifact):
    """The pairs of a block with their scores."""

    pattern = layout.PAIRS

    def read(self) -> pa.Table:
        """Read the columns of ``PAIRS``."""
        with reading(self.path):
            return pq.ParquetFile(self.path).read()

    @staticmethod
    def write(stream: Stream, data: tuple[pa.Table, np.ndarray]) -> None:
        """Write n pairs, ``query_id`` and ``doc_id``, with their scores, float32 of shape (n,)."""
        pairs, scores = data
        pq.write_table(pa.table([*pairs.columns, scores], schema=PAIRS), stream, compression="zstd")


def pairs_of_block(run: pa.Table, query_ids: pa.Array, depth: int, block: int, blocks: int) -> pa.Table:
    """Select the pairs that a block scores: the first documents of each of its queries.

    The run of the first stage is sorted by query and rank, and the ids of queries in byte order.
    """
    # Blocks of all queries, so that a first stage that finds less does not move a query to another block.
    first, last = (number * len(query_ids) // blocks for number in (block, block + 1))
    chosen = pc.and_(pc.is_in(run["query_id"], value_set=query_ids.slice(first, last - first)), pc.less_equal(run["rank"], depth))
    return run.filter(chosen).select(["query_id", "doc_id"])


def kept_scores(path: str, pairs: pa.Table, expected: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, str] | None]:
    """Reuse the scores that an earlier job left for the same pairs, in a file that may be there.

    ``expected`` are keys of the record, of its ``made`` and of its ``inputs``, all of which must be unchanged. Returns float32 of
    shape (pairs,), not-a-number where there is none; and ``made`` of the record, None if no score is used.
    """
    scores = np.full(pairs.num_rows, np.nan, np.float32)
    try:
        stored = Pairs(path)
        stored.check()
        before, record = stored.read(), stored.record
    except (FileNotFoundError, DataError) as error:
        logger.info("no stored scores are reused: %s", error)
        return scores, None
    recorded = {**record["inputs"], **record["made"], **record}
    if changed := [key for key, value in expected.items() if recorded.get(key) != value]:
        logger.info("no stored scores are reused: %s changed", ", ".join(changed))
        return scores, None
    known = dict(zip(_keys(before), before["score"].to_pylist(), strict=True))
    return np.array([known.get(key, np.nan) for key in _keys(pairs)], np.float32).reshape(len(scores)), record["made"]


def _keys(pairs: pa.Table) -> list[tuple[str, str]]:
    return list(zip(pairs["query_id"].to_pylist(), pairs["doc_id"].to_pylist(), strict=True))
