"""Merge the candidates of all chunks into one run, for every family."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import SOURCES, TAKEN, Made, step
from beirflow.core.errors import DataError
from beirflow.core.records import together, totals
from beirflow.data.corpus_files import Documents, Queries
from beirflow.ranking.candidates import Candidates
from beirflow.ranking.ranking import Hits, Ties, rank_hits
from beirflow.ranking.run_file import Columns, Run
from beirflow.ranking.searched import SELF_MATCHES, check_one_source

CANDIDATES = 1 << 24
"""Number of candidates from which on they are cut to the k best; with those of another chunk some 70 bytes each are sorted."""

RankedHits = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # as :func:`rank_hits` returns them

RUN_ROWS = 1 << 20  # rows of a run that are looked up and written at once


@step(Run, stage="merge", ancestors=None, same=("top_k", "ties"))
def merge_chunks(
    queries: Queries,
    documents: Documents,
    candidates: Sequence[Candidates],
    system: str,
    dataset: str,
    top_k: int,
    run_settings: Mapping[str, Any],
) -> Made:
    """Merge the candidates of chunk 0, 1, …, cut at k.

    Raises DataError if they are not those of all chunks, or a given expansion was read from several files.
    """
    chunks = [each.names["chunk"] for each in candidates]
    if chunks != [str(chunk) for chunk in range(len(documents.sizes))]:
        found = f"{len(documents.sizes)} chunks, but candidates of the chunks {', '.join(chunks)}"
        raise DataError(f"{documents.path}: {found}; search all chunks again")
    records = [each.record for each in candidates]
    sources = {path: source for record in records for path, source in record[SOURCES].items()}
    check_one_source(sources, {(documents.results / path).parent for path in sources} | {each.path.parent for each in candidates})
    query_ids = queries.read(["query_id"])["query_id"].combine_chunks()
    # The k best of a chunk hold all of its documents that can be among the k best of all: what beats one there beats it here.
    hits, doc_ids = _merge_candidates(candidates, top_k, records[0]["ties"], len(query_ids), documents)
    searches = [{**record["made"], "search_code": record["code"]} for record in records]
    self_matches = {query: score for record in records for query, score in record.get(SELF_MATCHES, {}).items()}
    behind = sources | {record["path"]: record for record in records}
    more = {SELF_MATCHES: self_matches, TAKEN: {path: each[TAKEN] for path, each in behind.items() if TAKEN in each}}
    return Made(
        _rows(hits, query_ids, doc_ids),
        made=together([*(source["made"] for source in sources.values() if "made" in source), *searches]),
        seconds=totals(behind.values(), "seconds"),
        bytes=totals(sources.values(), "bytes"),
        counts=totals(behind.values(), "counts"),
        ties=records[0]["ties"],
        jobs=sorted({str(each["job"]) for each in behind.values() if "job" in each}),
        system=system,
        dataset=dataset,
        top_k=top_k,
        settings=run_settings,
        **{key: values for key, values in more.items() if values},
    )


def _rows(hits: RankedHits, query_ids: pa.Array, doc_ids: pa.Array) -> Iterator[Columns]:
    """Yield the rows of a run, some at a time."""
    for start in range(0, len(hits[0]), RUN_ROWS):
        query, row, score, ranks = (column[start : start + RUN_ROWS] for column in hits)
        yield query_ids.take(pa.array(query)), doc_ids.take(pa.array(row)).cast(pa.string()), score, ranks


def _merge_candidates(
    candidates: Sequence[Candidates], k: int, ties: Ties, queries: int, documents: Documents
) -> tuple[RankedHits, pa.Array]:
    """Return the k best of each query: query, place of the id, score and rank, sorted by query and rank; and these ids.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks; from
    then on only those are kept that score at least as high as the k-th, which leaves fewer from each chunk. Ids are read with
    their chunk and kept with its candidates: those of a hundred million documents take gigabytes.
    """
    parts: list[Hits] = []
    ids: list[pa.Array] = []
    least = np.full(queries, -np.inf, np.float32)
    for chunk, each in enumerate(candidates):
        query, row, score = each.read()
        # Equal scores stay too: their ids decide at the cut.
        may_stay = score >= least[query]
        # Columns that are longer than 2 GiB need large strings.
        of_chunk = documents.read([chunk], ["doc_id"])["doc_id"].combine_chunks().cast(pa.large_string())
        places, kept = _renumber(row[may_stay], of_chunk)
        parts.append((query[may_stay], (places + sum(map(len, ids))).astype(np.int32), score[may_stay]))
        ids.append(kept)
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            query, place, score, ranks = rank_hits(parts, pa.concat_arrays(ids), k, ties)
            place, kept = _renumber(place, pa.concat_arrays(ids))
            parts, ids = [(query, place, score)], [kept]
            least[query[ranks == k]] = score[ranks == k]
    all_ids = pa.concat_arrays(ids)
    return rank_hits(parts, all_ids, k, ties), all_ids


def _renumber(rows: np.ndarray, ids: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the ids that some rows name, each once and in their order, and the place of each row's id among them."""
    is_named = np.zeros(len(ids), bool)
    is_named[rows] = True
    return (np.cumsum(is_named, dtype=np.int32) - 1)[rows], ids.filter(pa.array(is_named))
