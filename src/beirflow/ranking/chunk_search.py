"""Search one chunk of a corpus: verify what was made of it, find the top k of each query, and write them as candidates.

A family opens its representations and finds the top k; this module does what all families do before and after.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.records import Job, output_digest
from beirflow.core.verified import checked_while_read
from beirflow.data.corpus_files import Documents, PreparedCorpus, Queries, recorded_digest
from beirflow.data.own_candidates import own_candidates
from beirflow.ranking.candidates import searched_inputs, write_candidates
from beirflow.ranking.ranking import Hits, Ties
from beirflow.ranking.searched import Ids, read_ids, rows_of_pairs

Records = Mapping[str, Mapping[str, Any]]  # contents of records, by path of the file that each is of


@dataclass(frozen=True)
class SearchRequest:
    """Request to a system: the top k of one chunk, for every query."""

    corpus: PreparedCorpus
    system: str
    chunk: int
    top_k: int  # documents to keep for each query
    drop_self_matches: bool  # drop a document whose id is the query's id, before the cut
    output_path: str  # candidates to write


class OpenedChunk(NamedTuple):
    """A chunk that can be searched.

    ``search`` returns hits, sorted by query, score and the order of ids at the cut, and the number of documents that were dropped
    because they have the id of the query.
    """

    search: Callable[[], tuple[Hits, int]]
    made: Mapping[str, Any] = {}  # what the representations were changed to before the search, for the record of the run
    records: Mapping[str, Mapping[str, Any]] = {}  # of other files that were read, or in place of verified ones


@dataclass(frozen=True)
class SearchedFiles:
    """The files that a search reads, for verification and for the record of the run."""

    records: Records  # of the representations, whose digests are compared while they are read
    other_records: Records = field(default_factory=dict)  # of files that are not read themselves
    read: Mapping[str, str] = field(default_factory=dict)  # sha256 of other inputs, by path below the results
    models: Records = field(default_factory=dict)  # records of models that were made for the dataset, by their own paths


def search_one_chunk(
    request: SearchRequest,
    job: Job,
    files: SearchedFiles,
    open_chunk: Callable[[Ids], OpenedChunk],
    *,
    ties: Ties = "descending",
    gpu: AbstractContextManager[None] | None = None,
    ranks_own_candidates: bool = False,
) -> None:
    """Find the top k of one chunk for every query, and write them with the facts that the merge needs.

    ``open_chunk`` gets the ids of queries and documents. ``ranks_own_candidates`` is for a family that scores only the candidates
    of each query where a dataset states them; others score all, and leave out the rest before the cut. Raises DataError if a file
    is not the one that was recorded, or a query has more candidates of its own than are kept.
    """
    # Whatever is searched is compared with its digest meanwhile. Candidates are written behind this block, so that none exist of
    # a file that was changed.
    with checked_while_read({path: output_digest(record, path) for path, record in files.records.items()}):
        candidates, path = own_candidates(request.corpus.queries_path) if ranks_own_candidates else (None, Path())
        drop, with_candidates = request.drop_self_matches, not ranks_own_candidates
        queries, documents = Queries(request.corpus.queries_path), Documents(request.corpus.documents_path)
        queries.check()
        with documents:
            ids = read_ids(queries, documents, request.chunk, drop_self_matches=drop, with_candidates=with_candidates)
        if candidates is not None:
            ids = ids._replace(pairs=rows_of_pairs(candidates, ids, request.top_k))
        opened = open_chunk(ids)
        with gpu or nullcontext():
            start = time.perf_counter()
            hits, self_matches = opened.search()
            seconds = time.perf_counter() - start
    inputs, sources = searched_inputs(
        job,
        {**files.records, **files.other_records, **opened.records},
        {**files.read, **({} if candidates is None else job.digests({path: recorded_digest(path)}))},
        files.models,
    )
    write_candidates(
        request.output_path,
        hits,
        job,
        inputs=inputs,
        sources=sources,
        made=opened.made,
        seconds={"search": seconds},
        counts={"self_matches_dropped": self_matches},
        top_k=request.top_k,
        ties=ties,
    )
