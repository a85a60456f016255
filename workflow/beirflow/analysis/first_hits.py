"""The analysed part of a run: the first ranks of all queries, and all ranks of some."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.files.verified import check_digest

RUN_ROWS = 1 << 18  # rows of a run in memory at once


@dataclass(frozen=True)
class FirstHits:
    """The analysed part of a run."""

    doc_ids: pa.ChunkedArray  # documents in the first ranks of all queries, one a hit
    # by query of the sample, by document in the order of the ranks, its rank and score
    ranked: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)


def read_first_hits(run_path: str, expected: str, source: str, depth: int, sample: Sequence[str]) -> FirstHits:
    """Read the first ``depth`` ranks of all queries and all ranks of a sample of queries, some rows at a time.

    Raise DataError if the digest of the run is not the expected one, which ``source`` recorded.
    """
    check_digest(run_path, expected, source)
    wanted = pa.array(sample, pa.string())
    first: list[pa.Array] = []
    ranked: dict[str, dict[str, tuple[int, float]]] = {query_id: {} for query_id in sample}
    with pq.ParquetFile(run_path) as run:
        for batch in run.iter_batches(RUN_ROWS):
            first.append(batch["doc_id"].filter(pc.less_equal(batch["rank"], depth)))
            rows = batch.filter(pc.is_in(batch["query_id"], value_set=wanted)).to_pydict()
            for query_id, doc_id, score, rank in zip(*(rows[name] for name in run.schema_arrow.names), strict=True):
                ranked[query_id][doc_id] = (rank, score)
    return FirstHits(pa.chunked_array(first, pa.string()), ranked)
