"""Rank the first documents of a run again, by the scores of their pairs."""

import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.layout import MODEL
from beirflow.core.records import together, totals
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Corpus
from beirflow.families.first_stages import FirstRun, fields_of
from beirflow.families.rerank.pairs import PAIRS, Pairs
from beirflow.families.rerank.settings import RerankSettings
from beirflow.ranking.ranking import rank_hits
from beirflow.ranking.run_file import NewRun, Run


@step(Run, stage="merge", ancestors=(MODEL,))
def rerank_run(corpus: Corpus, first_run: FirstRun, pairs: Sequence[Pairs], settings: RerankSettings, run: NewRun) -> Made:
    """Rank the pairs of block 0, 1, … as one run. Raises DataError if they are not the first documents of the first stage."""
    start, records = time.perf_counter(), [each.record for each in pairs]
    for block, (each, record) in enumerate(zip(pairs, records, strict=True)):
        if (record["block"], record["blocks"], record["depth"]) != (block, len(pairs), settings.depth):
            raise damaged(each.path, f"found block {record['block']} of {record['blocks']} to the depth {record['depth']}")
    scored = pa.concat_tables(each.read() for each in pairs)
    rows = reranked(settings, first_run.read(), scored, str(first_run.path), run.top_k)
    fields = fields_of(
        run,
        [first_run],
        made=together(record["made"] for record in records),
        seconds=totals(records, "seconds") | {"merge": time.perf_counter() - start},
        jobs=[record["job"] for record in records],
    )
    return Made([rows], **fields, counts=totals(records, "counts"), depth=settings.depth, below=settings.below)


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
