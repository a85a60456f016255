"""Rank the first documents of a run again, by the scores of their pairs."""

import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.records import Job, check_inputs, together, totals
from beirflow.core.verified import damaged
from beirflow.families.first_stages import FirstStages
from beirflow.families.rerank.pairs import PAIRS, read_pairs
from beirflow.families.rerank.settings import RerankSettings
from beirflow.ranking.ranking import rank_hits
from beirflow.ranking.run_file import NewRun, write_run


def rerank_run(
    *, settings: RerankSettings, run: NewRun, first_run_path: str, pairs_paths: Sequence[str], corpus_path: str, job: Job
) -> None:
    """Rank the pairs of block 0, 1, … as one run; each file is next to its record.

    Raises DataError if a file is not the one that was recorded, or pairs are not those of this run.
    """
    start = time.perf_counter()
    first = FirstStages([settings.first], [first_run_path], corpus_path, job)
    read, tables, records = dict[str, str](), [], []
    for block, path in enumerate(pairs_paths):
        pairs, record = read_pairs(path)
        check_inputs(record_of(path), record, first.inputs, system=settings.name)
        if (record["block"], record["blocks"], record["depth"]) != (block, len(pairs_paths), settings.depth):
            raise damaged(path, f"found block {record['block']} of {record['blocks']} to the depth {record['depth']}")
        read |= record["inputs"] | record["outputs"] | {job.below(record_of(path)): file_digest(record_of(path))}
        tables.append(pairs)
        records.append(record)
    write_run(run.run_path, [reranked(settings, first.runs[0], pa.concat_tables(tables), first_run_path, run.top_k)])
    first.write_record(
        run,
        made=together(record["made"] for record in records),
        seconds=totals(records, "seconds") | {"merge": time.perf_counter() - start},
        read=read,
        jobs=[record["job"] for record in records],
        counts=totals(records, "counts"),
        depth=settings.depth,
        below=settings.below,
    )


def reranked(
    settings: RerankSettings, run: pa.Table, pairs: pa.Table, run_path: str, top_k: int
) -> tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]:
    """Rank a run again; return ids of queries and documents, scores and ranks.

    Documents below the depth, where they are kept, get whole numbers below the lowest score of their query, one less each: a
    score that no model gave, but in their old order behind all others. ``run_path`` is for messages.

    Raises DataError if the pairs are not the first documents of the run.
    """
    above = pc.less_equal(run["rank"], settings.depth)
    if not run.filter(above).select(PAIRS.names[:2]).equals(pairs.select(PAIRS.names[:2])):
        raise damaged(run_path, "its first documents are not those whose pairs were scored")
    query_ids, doc_ids = (run[name].combine_chunks().dictionary_encode() for name in ("query_id", "doc_id"))
    query, row, rank = query_ids.indices.to_numpy(), doc_ids.indices.to_numpy(), run["rank"].to_numpy()
    scored = above.to_numpy()
    scores = np.empty(len(query), np.float32)
    scores[scored] = pairs["score"].to_numpy()
    lowest = np.full(len(query_ids.dictionary), np.inf, np.float32)
    np.minimum.at(lowest, query[scored], scores[scored])  # counts each of repeated indices, unlike an assignment
    scores[~scored] = np.floor(lowest[query[~scored]]) - (rank[~scored] - settings.depth)
    kept = scored if settings.below == "drop" else np.ones(len(query), bool)
    hits = rank_hits([(query[kept], row[kept], scores[kept])], doc_ids.dictionary, top_k)
    return query_ids.dictionary.take(pa.array(hits[0])), doc_ids.dictionary.take(pa.array(hits[1])), hits[2], hits[3]
