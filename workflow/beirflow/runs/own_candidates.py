"""Datasets in which each query ranks its own candidates: their places in a chunk, for every family."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.datasets.corpus_files import PreparedCorpus, recorded_digest
from beirflow.files.errors import DataError
from beirflow.files.records import Job
from beirflow.runs.searched import Ids


def rows_of_pairs(candidates: pa.Table, ids: Ids, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the candidates of each query in a chunk.

    Args:
        candidates: ``query_id`` and ``doc_id`` of the pairs.
        ids: The ids of the queries and of the chunk.
        top_k: Documents to keep for each query, which must be all of its candidates.

    Returns:
        Numbers of queries, ascending, and rows of documents of the chunk, int64.

    Raises:
        DataError: A query has more candidates than are kept.
    """
    most = pc.max(candidates.group_by("query_id").aggregate([("doc_id", "count")])["doc_id_count"]).as_py()
    if most > top_k:
        raise DataError(f"a query has {most} candidates, all of which are ranked; set 'top_k: {most}' or more")
    query = pc.index_in(candidates["query_id"], value_set=ids.queries).to_numpy()
    row = pc.fill_null(pc.index_in(candidates["doc_id"], value_set=ids.documents), -1).to_numpy()
    order = np.argsort(query, kind="stable")
    order = order[row[order] >= 0]
    return query[order].astype(np.int64), row[order].astype(np.int64)


def candidates_read(corpus: PreparedCorpus, candidates: pa.Table | None, job: Job) -> dict[str, str]:
    """Return the digest of the judgements that state the candidates, for a record.

    Args:
        corpus: The corpus.
        candidates: The candidates; None where every query ranks all documents.
        job: The job.

    Returns:
        The digest of the judgements by path below the results; nothing where they were not read.
    """
    return {} if candidates is None else job.digests({corpus.qrels_path: recorded_digest(corpus.qrels_path)})
