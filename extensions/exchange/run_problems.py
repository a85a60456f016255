"""Checks of the runs of others, whose digests somebody else wrote."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.ranking.ranking import byte_order, rank
from beirflow.ranking.run_file import RUN


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def problem_with_run(run: pa.Table) -> str | None:
    """Return why a table is no run; None if it is one, in whatever order its rows stand."""
    if not run.schema.equals(RUN):
        return f"found the columns {_columns(run.schema)}"
    if any(column.null_count for column in run.columns):
        return "found a row with nothing in a column"
    for value in pc.unique(run["query_id"].filter(pc.invert(pc.is_finite(run["score"])))).slice(0, 1):
        return f"found a score for the query {value.as_py()!r} that is not a finite number"
    query, document = (run[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("query_id", "doc_id"))
    pairs = query.astype(np.int64) << 32 | document  # one number for each pair sorts faster than two
    ordered = np.sort(pairs)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        row = int(np.argmax(pairs == twice[0]))
        return f"found the document {run['doc_id'][row].as_py()!r} twice for the query {run['query_id'][row].as_py()!r}"
    return _problem_with_ranks(run, query)


def problem_with_order(run: pa.Table) -> str | None:
    """Return why the queries of a run are not in order; None if they are."""
    queries = run["query_id"].combine_chunks().dictionary_encode()
    query = queries.indices.to_numpy()
    in_order = (query[1:] >= query[:-1]).all() and (np.diff(byte_order(queries.dictionary)) > 0).all()
    return None if in_order else "found queries that are not in the byte order of their ids"


def _problem_with_ranks(run: pa.Table, query: np.ndarray) -> str | None:
    """Return the first rank that contradicts the ranking rule; None without one. ``query`` numbers the query of each row.

    Runs that were made before lexical systems followed the rule differ where scores tie.
    """
    doc_ids, ranks = run["doc_id"].combine_chunks(), run["rank"].to_numpy()
    order, expected = rank(query, run["score"].to_numpy(), lambda tied: byte_order(doc_ids.take(pa.array(tied))))
    for place in np.flatnonzero(ranks[order] != expected)[:1].tolist():
        row = order[place].item()
        problem = (
            f"found the document {doc_ids[row].as_py()!r} at rank {ranks[row]} for the query {run['query_id'][row].as_py()!r}"
        )
        return f"{problem}, expected rank {expected[place]}"
    return None
