"""Import a run: check every row of it, and rank it by the one rule."""

import logging
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.core.verified import unchanged
from beirflow.data.corpus_files import PreparedCorpus, read_table, recorded_digest
from beirflow.data.own_candidates import candidates_in
from beirflow.data.sources.forms import CANDIDATES
from beirflow.families.imported.run_rows import Rows, concatenated, read_rows
from beirflow.ranking.ranking import rank_hits
from beirflow.ranking.run_file import NewRun, run_writer
from beirflow.ranking.searched import excluded_rows, read_every_id

logger = logging.getLogger(__name__)


def import_run(*, run: NewRun, source_path: str, corpus: PreparedCorpus, drop_self_matches: bool, job: Job) -> None:
    """Import a run, as Parquet or in TREC form, plain or gzipped; its record has the digest of the source, and what was left out.

    If the source is ``queries.parquet``, the run is of the candidates that these have. A self match, a document that the query
    excludes, and one that is no candidate of a query with some are dropped before the cut. Raises DataError, which names file
    and line, if the file is no run on this corpus.
    """
    asked = read_table(corpus.queries_path)
    query_ids = asked["query_id"].combine_chunks()
    doc_ids, _ = read_every_id(corpus.documents_path)
    with unchanged(source_path) as digest:
        if source_path == corpus.queries_path:
            rows, unjudged = _candidates(asked, doc_ids, source_path), 0
        else:
            rows, unjudged = _of_judged_queries(Path(source_path), query_ids)
    query = pc.index_in(rows.query_ids, value_set=query_ids).to_numpy()
    row = _rows_of_documents(source_path, run.dataset, rows, doc_ids)
    _check_repetition(source_path, rows, query, row)
    excluded = excluded_rows(asked, doc_ids, drop_self_matches=drop_self_matches)
    asking, place = np.nonzero(excluded >= 0)
    kept = ~np.isin(query.astype(np.int64) * len(doc_ids) + row, asking * len(doc_ids) + excluded[asking, place])
    otherwise = _queries_ranked_otherwise(rows, query)
    if otherwise:
        logger.warning(
            "%s: the ranks of %d queries contradict their scores; scores decide, as for trec_eval", source_path, otherwise
        )
    if ties := _ties_by_rounding(rows, query):
        problem = "scores that differ in the file are equal as float32, so that ids rank their documents"
        logger.warning("%s: %d %s, as for trec_eval 9; trec_eval 10 compares them as doubles", source_path, ties, problem)
    hits = rank_hits([(query[kept], row[kept].astype(np.int32), rows.scores[kept])], doc_ids, run.top_k)
    more: dict[str, Any] = {} if source_path == corpus.queries_path else {"source_sha256": digest}
    with run_writer(run.run_path) as write:
        write(query_ids.take(pa.array(hits[0])), doc_ids.take(pa.array(hits[1])), hits[2], hits[3])
    run.write_record(
        job,
        {path: recorded_digest(path) for path in (corpus.queries_path, corpus.documents_path)},
        made={"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__},
        seconds={},  # what a run took that was made elsewhere is not known
        counts={
            "self_matches_dropped": int(len(query) - kept.sum()),
            "rows_without_judged_query": unjudged,
            "queries_ranked_otherwise": otherwise,
        },
        **more,
    )


def _candidates(queries: pa.Table, doc_ids: pa.Array, path: str) -> Rows:
    """Return the candidates of each query that are in the corpus; the score is minus the place in the list."""
    candidates = candidates_in(queries)
    if candidates is None:
        raise DataError(f"{path}: queries of this dataset have no candidates; name a system in 'first' of what reads them")
    lengths = queries[CANDIDATES].combine_chunks().value_lengths().to_numpy()
    place = np.arange(candidates.num_rows) - (np.cumsum(lengths) - lengths).repeat(lengths)
    here = np.flatnonzero(pc.is_in(candidates["doc_id"], value_set=doc_ids.cast(pa.string())).to_numpy())
    query_ids, ids = (candidates[key].combine_chunks().take(pa.array(here)) for key in ("query_id", "doc_id"))
    return Rows(here + 1, query_ids, ids, -place[here].astype(np.float32), None)


def _of_judged_queries(path: Path, query_ids: pa.Array) -> tuple[Rows, int]:
    """Return the rows of the judged queries, and how many others there are."""
    parts, others = [], 0
    for rows in read_rows(path):
        judged = pc.is_in(rows.query_ids, value_set=query_ids)
        others += len(judged) - judged.true_count
        chosen = np.flatnonzero(judged.to_numpy(zero_copy_only=False))
        queries, documents = (column.take(pa.array(chosen)) for column in (rows.query_ids, rows.doc_ids))
        ranks = None if rows.ranks is None else rows.ranks[chosen]
        exact = None if rows.exact is None else rows.exact[chosen]
        parts.append(Rows(rows.lines[chosen], queries, documents, rows.scores[chosen], ranks, exact))
    if not any(len(part.lines) for part in parts) and not others:
        raise DataError(f"{path}: the run is empty, it has no row; was it written to its end?")
    if not any(len(part.lines) for part in parts):
        problem = f"none of its {others} rows is of a query with judgements, such as {query_ids[0].as_py()!r}"
        raise DataError(f"{path}: {problem}; does the run belong to another dataset or split?")
    return concatenated(parts), others


def _rows_of_documents(source_path: str, dataset: str, rows: Rows, doc_ids: pa.Array) -> np.ndarray:
    """Return the row of each document in the corpus, int64."""
    numbers = pc.index_in(rows.doc_ids, value_set=doc_ids)
    if numbers.null_count:
        place = int(np.argmax(numbers.is_null().to_numpy(zero_copy_only=False)))
        said = f"{source_path}:{rows.lines[place]}: the corpus of {dataset} has no document {rows.doc_ids[place].as_py()!r}"
        todo = "does the run belong to another dataset, or to all of one of which this is a sample?"
        raise DataError(f"{said}, nor those of {numbers.null_count - 1} other rows; {todo}")
    return numbers.to_numpy().astype(np.int64)


def _check_repetition(source_path: str, rows: Rows, query: np.ndarray, row: np.ndarray) -> None:
    """Raise DataError if a document comes twice for a query."""
    pairs = query.astype(np.int64) << 32 | row
    order = np.argsort(pairs, kind="stable")
    twice = np.flatnonzero(pairs[order[1:]] == pairs[order[:-1]])
    if len(twice):
        place = twice[np.argmin(rows.lines[order[twice + 1]])]
        first, second = order[place], order[place + 1]
        problem = (
            f"the document {rows.doc_ids[int(second)].as_py()!r} again for the query {rows.query_ids[int(second)].as_py()!r}"
        )
        raise DataError(f"{source_path}:{rows.lines[second]}: found {problem}, as in line {rows.lines[first]}; keep one of them")


def _queries_ranked_otherwise(rows: Rows, query: np.ndarray) -> int:
    """Count the queries of which the file gives a document with a higher score a later rank."""
    if rows.ranks is None:
        return 0
    order = np.lexsort((rows.ranks, query))
    query, rank, score = query[order], rows.ranks[order], rows.scores[order]
    rises = (query[1:] == query[:-1]) & (rank[1:] > rank[:-1]) & (score[1:] > score[:-1])
    return len(np.unique(query[1:][rises]))


def _ties_by_rounding(rows: Rows, query: np.ndarray) -> int:
    """Count the neighbouring scores of a query, in their order, that are equal as float32 and differ in the file."""
    if rows.exact is None:
        return 0
    order = np.lexsort((rows.exact, query))
    asked, exact, rounded = query[order], rows.exact[order], rows.scores[order]
    tied = (asked[1:] == asked[:-1]) & (rounded[1:] == rounded[:-1]) & (exact[1:] != exact[:-1])
    return int(tied.sum())
