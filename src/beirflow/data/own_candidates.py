"""Candidates of queries: the only documents that they rank, where a dataset states these."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from beirflow.core.layout import QRELS
from beirflow.core.records import read_json
from beirflow.data.corpus_files import OWN_CANDIDATES, corpus_record, read_table
from beirflow.data.sources.forms import CANDIDATES


def own_candidates(queries_path: str | Path) -> tuple[pa.Table | None, Path]:
    """Return ``query_id`` and ``doc_id`` of the only documents that each query ranks, in their order, and the file that says so.

    The table is None where each query ranks all. Raises DataError if a file was changed after it was written.
    """
    if read_json(corpus_record(queries_path)).get(OWN_CANDIDATES):
        qrels_path = Path(queries_path).with_name(Path(QRELS).name)
        return read_table(qrels_path).select(["query_id", "doc_id"]), qrels_path
    return candidates_in(read_table(queries_path, ["query_id", CANDIDATES])), Path(queries_path)


def candidates_in(queries: pa.Table) -> pa.Table | None:
    """Return the same from the table of ``queries.parquet``, if it states them."""
    if CANDIDATES not in queries.column_names:
        return None
    lists = queries[CANDIDATES].combine_chunks()
    query = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    return pa.table({"query_id": queries["query_id"].combine_chunks().take(pa.array(query)), "doc_id": lists.flatten()})
