"""Runs as Anserini and Pyserini write them, whose order of ties is that of their published values.

They rank by score as float32 and then by ascending id, cut at 1,000 hits, round scores to four decimals, lower tied ones by a
millionth each, and only then remove the document that is the query. Six decimals are printed.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.ranking.run_file import RUN, Run, check_export, write_lines
from beirflow.ranking.searched import SELF_MATCHES

HITS = 1000
"""Hits of a query that they keep."""

SAME = np.float32(1e-4)
"""Distance to the previous score within which a rounded score counts as a tie."""

STEP = np.float32(1e-6)

COLUMNS = RUN.names[:3]

TAG = "Anserini"  # last word of a line of Pyserini, whatever the system


def as_written(run: pa.Table, self_matches: Mapping[str, float]) -> pa.Table:
    """Return the hits of a run as Anserini would have written them, sorted by query and its rank.

    trec_eval 9 reads the scores as float32 and ranks ties by descending id. Lowered scores are float32 before they are printed:
    up to 8 they all differ, so ids of ties ascend; above, the more become equal the higher the score is, pairs from 32 on, and
    ids descend among these.

    Args:
        run: Columns ``query_id``, ``doc_id`` and ``score``, in any order, cut at :data:`HITS` by ascending ids, or longer.
        self_matches: By query, the score of the document with its id, if the run has it not.

    Returns:
        The columns of ``RUN``; scores are the float32 nearest to what is printed.
    """
    ids = pa.array(self_matches, pa.string())
    own = pa.table([ids, ids, pa.array(self_matches.values(), pa.float32())], names=COLUMNS)
    hits = pa.concat_tables([run.select(COLUMNS).cast(own.schema), own])
    hits = hits.sort_by([("query_id", "ascending"), ("score", "descending"), ("doc_id", "ascending")])
    query, rank = _query_and_place(hits)
    hits, query, rank = hits.filter(pa.array(rank < HITS)), query[rank < HITS], rank[rank < HITS]
    scores = np.full((query.max(initial=-1) + 1, HITS), np.nan, np.float32)
    scores[query, rank] = hits["score"].to_numpy()
    printed = np.round(lowered(scores)[query, rank].astype(np.float64), 6).astype(np.float32)
    hits = hits.set_column(2, "score", pa.array(printed))
    is_own = pc.and_(pc.equal(hits["query_id"], hits["doc_id"]), pc.is_in(hits["query_id"], value_set=ids))
    hits = hits.filter(pc.invert(is_own))
    return hits.append_column(RUN.field("rank"), pa.array((1 + _query_and_place(hits)[1]).astype(np.int32)))


def _query_and_place(hits: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the query of each hit, and its place among those of its query, of hits sorted by query; from 0."""
    query = hits["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    return query, np.arange(len(query)) - np.searchsorted(query, query)


def lowered(scores: np.ndarray) -> np.ndarray:
    """Round scores to four decimals and lower ties, in the float32 of Anserini's ``ScoreTiesAdjusterReranker``.

    A score within 1e-4 of the lowered one before it loses 1e-6 for each score since the last that was further away.

    Args:
        scores: float32 of shape (queries, hits), best first; not-a-number beyond the last hit of a query.

    Returns:
        float32 of the same shape.
    """
    rounded = (np.floor(scores.astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    adjusted, repeated = rounded.copy(), np.zeros(len(scores), np.float32)
    for rank in range(1, scores.shape[1]):
        repeated = np.where(adjusted[:, rank - 1] - rounded[:, rank] > SAME, np.float32(0), repeated + np.float32(1))
        adjusted[:, rank] = rounded[:, rank] - STEP * repeated
    return adjusted


def write_anserini_run(*, run_path: str, record_path: str, queries_path: str, output_path: str, system: str) -> None:
    """Write a run as Pyserini writes it, byte for byte, compressed with gzip.

    Raises DataError as :func:`~beirflow.ranking.run_file.write_trec` does, and for a run that was cut otherwise.
    """
    check_export(run_path, record_path, queries_path, output_path, system=system)
    record = read_json(record_path)
    ties, top_k = record.get("ties"), record["top_k"]
    if ties != "ascending" or top_k < HITS:
        found = f"cut at {top_k} documents, and ids of ties there are {ties or 'in the order of another tool'}"
        raise DataError(f"{run_path}: {found}; expected {HITS} or more, and ascending ids, a system with 'ties: ascending'")
    hits = as_written(Run(run_path).read(), record.get(SELF_MATCHES, {}))
    queries = hits["query_id"].combine_chunks().dictionary_encode()
    if all(each.isdecimal() for each in queries.dictionary.to_pylist()):  # then Pyserini sorts queries as numbers
        numbers = np.array([int(each) for each in queries.dictionary.to_pylist()], object)
        place = np.argsort(np.argsort(numbers, kind="stable"))
        hits = hits.take(pa.array(np.argsort(place[queries.indices.to_numpy()], kind="stable")))
    write_lines(hits.to_batches(), run_path, output_path, ".6f", TAG)
