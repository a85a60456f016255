"""Import a run: check every row of it, and rank it by the one rule."""

import logging
import platform
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.errors import DataError
from beirflow.core.verified import unchanged
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.own_candidates import candidates_in
from beirflow.data.sources.forms import CANDIDATES
from beirflow.ranking.ranking import rank_hits
from beirflow.ranking.run_file import NewRun, Run
from beirflow.ranking.run_rows import (
    check_repetition,
    of_judged_queries,
    queries_ranked_otherwise,
    read_rows,
    rows_of,
    ties_by_rounding,
)
from beirflow.ranking.searched import excluded_rows, read_every_id

logger = logging.getLogger(__name__)


@step(Run, stage="")  # the time that the run took is not known
def import_run(queries: Queries, documents: Documents, source_path: str, run: NewRun, drop_self_matches: bool) -> Made:
    """Import a run, as Parquet, JSON or in TREC form; its record has the digest of the source, and what was dropped.

    If the source is ``queries.parquet``, the run is that of the candidates of the queries. Self matches, documents that a query
    excludes, and documents that are no candidates of a query with candidates are dropped before the cut. Raises DataError with
    file and line if the file is no run on this corpus.
    """
    table, of_candidates = queries.read(), Path(source_path) == queries.path
    query_ids = table["query_id"].combine_chunks()
    doc_ids, _ = read_every_id(str(documents.path))
    with unchanged(source_path) as digest:
        if of_candidates:
            rows, unjudged = _candidates(table, doc_ids, source_path), 0
        else:
            rows, unjudged = of_judged_queries(source_path, read_rows(Path(source_path)), query_ids)
    query = pc.index_in(rows["query_id"], value_set=query_ids).to_numpy()
    row = _rows_of_documents(source_path, run.dataset, rows, doc_ids)
    check_repetition(source_path, rows, query, row)
    excluded = excluded_rows(table, doc_ids, drop_self_matches=drop_self_matches)
    asking, place = np.nonzero(excluded >= 0)
    kept = ~np.isin(query.astype(np.int64) * len(doc_ids) + row, asking * len(doc_ids) + excluded[asking, place])
    otherwise = queries_ranked_otherwise(rows, query)
    if otherwise:
        logger.warning(
            "%s: the ranks of %d queries contradict their scores; scores decide, as for trec_eval", source_path, otherwise
        )
    if ties := ties_by_rounding(rows, query):
        problem = "scores that differ in the file are equal as float32, so that ids rank their documents"
        logger.warning("%s: %d %s, as for trec_eval 9; trec_eval 10 compares them as doubles", source_path, ties, problem)
    hits = rank_hits([(query[kept], row[kept].astype(np.int32), rows["score"].to_numpy()[kept])], doc_ids, run.top_k)
    return Made(
        [(query_ids.take(pa.array(hits[0])), doc_ids.take(pa.array(hits[1])), hits[2], hits[3])],
        made={"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__},
        counts={
            "self_matches_dropped": int(len(query) - kept.sum()),
            "rows_without_judged_query": unjudged,
            "queries_ranked_otherwise": otherwise,
        },
        **run.fields,
        **({} if of_candidates else {"source_sha256": digest}),
    )


def _candidates(queries: pa.Table, doc_ids: pa.Array, path: str) -> pa.Table:
    """Return the candidates of each query that are in the corpus; the score is minus the place in the list."""
    candidates = candidates_in(queries)
    if candidates is None:
        raise DataError(f"{path}: no candidates for the queries; name a first stage, such as first: bm25")
    lengths = queries[CANDIDATES].combine_chunks().value_lengths().to_numpy()
    place = np.arange(candidates.num_rows) - (np.cumsum(lengths) - lengths).repeat(lengths)
    here = np.flatnonzero(pc.is_in(candidates["doc_id"], value_set=doc_ids.cast(pa.string())).to_numpy())
    query_ids, ids = (candidates[key].combine_chunks().take(pa.array(here)) for key in ("query_id", "doc_id"))
    return rows_of(path, here + 1, query_ids, ids, -place[here].astype(np.float64))


def _rows_of_documents(source_path: str, dataset: str, rows: pa.Table, doc_ids: pa.Array) -> np.ndarray:
    """Return the row of each document in the corpus, int64."""
    numbers = pc.index_in(rows["doc_id"], value_set=doc_ids)
    if numbers.null_count:
        place = int(np.argmax(numbers.is_null().to_numpy(zero_copy_only=False)))
        problem = (
            f"{source_path}:{rows['line'][place]}: the corpus of {dataset} has no document {rows['doc_id'][place].as_py()!r}"
        )
        todo = "does the run belong to another dataset, or to all of one of which this is a sample?"
        raise DataError(f"{problem}, nor those of {numbers.null_count - 1} other rows; {todo}")
    return numbers.to_numpy().astype(np.int64)
