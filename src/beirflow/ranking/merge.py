"""Merge the candidates of all chunks into one run, for every family."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, together, totals
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents, PreparedCorpus, read_table, recorded_digest
from beirflow.ranking.candidates import Candidates, Origin, read_candidates
from beirflow.ranking.ranking import Hits, Ties, rank_hits
from beirflow.ranking.run_file import NewRun, run_writer
from beirflow.ranking.searched import check_one_source

CANDIDATES = 1 << 24
"""Number of candidates from which on they are cut to the k best; with those of another chunk some 70 bytes each are sorted."""

RUN_ROWS = 1 << 20  # rows of a run that are looked up and written at once


def merge_chunks(*, run: NewRun, candidate_paths: Sequence[str], corpus: PreparedCorpus, job: Job) -> None:
    """Merge the candidates of chunk 0, 1, …, cut at k, and record what the run was made from, and the time it all took.

    Raises DataError if a file is not the one that was recorded; or if the candidates are not those of all chunks of this corpus,
    found in the same representations, whose given expansion was read from one file.
    """
    start = time.perf_counter()
    inputs = job.digests({path: recorded_digest(path) for path in (corpus.queries_path, corpus.documents_path)})
    query_ids = read_table(corpus.queries_path, ["query_id"])["query_id"].combine_chunks()
    chunks = _Chunks(run.system, run.top_k, inputs, job)
    with Documents(corpus.documents_path) as documents:
        if len(candidate_paths) != len(documents.sizes):
            found = f"{len(documents.sizes)} chunks, but candidates of {len(candidate_paths)}"
            raise DataError(f"{corpus.documents_path}: {found}; search all chunks again")
        # The k best of a chunk hold all of its documents that can be among the k best of all: what beats one there beats it here.
        (query, row, score, ranks), doc_ids = _merge_candidates(chunks, candidate_paths, len(query_ids), documents)
    # Once all chunks are read: that a source was replaced shows only in the records of two of them.
    places = {(job.results / path).parent for path in chunks.sources}
    check_one_source(chunks.sources, places | {Path(path).parent for path in candidate_paths})
    with run_writer(run.run_path) as write:
        for start_row in range(0, len(query), RUN_ROWS):
            part = slice(start_row, start_row + RUN_ROWS)
            ids = doc_ids.take(pa.array(row[part])).cast(pa.string())
            write(query_ids.take(pa.array(query[part])), ids, score[part], ranks[part])
    sources = list(chunks.sources.values())
    seconds = {**totals(sources, "seconds"), "search": chunks.seconds}
    run.write_record(
        job,
        {job.results / path: digest for path, digest in chunks.inputs.items()},
        made=together([*(each["made"] for each in sources if "made" in each), *chunks.made]),
        seconds=seconds | {"merge": time.perf_counter() - start},
        sizes=totals(sources, "bytes"),
        counts={**totals(sources, "counts"), "self_matches_dropped": chunks.self_matches},
        ties=chunks.ties,
        jobs=sorted(chunks.jobs),
    )


class _Chunks:
    """Reads the candidates of chunk 0, 1, …, which must be of this system and cut, and gathers where they come from.

    ``corpus`` has the digests of queries and documents by path below the results.
    """

    def __init__(self, system: str, top_k: int, corpus: Mapping[str, str], job: Job) -> None:
        self.inputs: dict[str, str] = dict(corpus)
        self._corpus = corpus
        self.sources: dict[str, Mapping[str, Any]] = {}
        self.made: list[Mapping[str, Any]] = []
        self.jobs: set[str] = set()
        self.ties: Ties = "descending"
        self.seconds, self.self_matches = 0.0, 0
        self._expected: dict[str, Any] = {"system": system, "top_k": top_k}
        self.top_k, self._job, self._next = top_k, job, 0

    def read(self, path: str) -> Candidates:
        candidates, origin = read_candidates(path)
        for name, expected in {**self._expected, "chunk": self._next}.items():
            if getattr(origin, name) != expected:
                raise damaged(path, f"found candidates of {name} {getattr(origin, name)}, expected {expected}")
        self._check_inputs(path, origin)
        self._next += 1
        self.ties = self._expected["ties"] = origin.ties
        self.sources |= origin.sources
        self.made.append({**origin.made, "search_code": origin.code} if origin.code else origin.made)
        self.jobs |= {origin.job, *(str(each["job"]) for each in origin.sources.values() if "job" in each)} - {""}
        self.seconds += origin.seconds
        self.self_matches += candidates.self_matches
        return candidates

    def _check_inputs(self, path: str, origin: Origin) -> None:
        """Check that all chunks were found in this corpus and in the same files, and that records that are here were those."""
        for name in self._corpus.keys() - origin.inputs.keys():
            raise damaged(path, f"it does not say in which {name} the candidates were found")
        for name, digest in origin.inputs.items():
            # The first chunk that names a file decides which one it is for all others.
            expected = self.inputs.setdefault(name, digest)
            here = self._job.results / name
            if digest == expected and name in origin.sources and name not in self.sources and here.is_file():
                expected = file_digest(here)
            if digest != expected:
                raise damaged(path, f"found candidates from {name} with the sha256 {digest}, but {expected} is used here")


def _merge_candidates(
    chunks: _Chunks, paths: Sequence[str], queries: int, documents: Documents
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], pa.Array]:
    """Return the k best of each query: query, place of the id, score and rank, sorted by query and rank; and these ids.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks; from
    then on only those are kept that score at least as high as the k-th, which leaves fewer from each chunk. Ids are read with
    their chunk and kept with its candidates: those of a hundred million documents take gigabytes.
    """
    k = chunks.top_k
    parts: list[Hits] = []
    ids: list[pa.Array] = []
    least = np.full(queries, -np.inf, np.float32)
    for chunk, candidates in enumerate(map(chunks.read, paths)):
        # Equal scores stay too: their ids decide at the cut.
        may_stay = candidates.score >= least[candidates.query]
        # Columns that are longer than 2 GiB need large strings.
        of_chunk = documents.read([chunk], ["doc_id"])["doc_id"].combine_chunks().cast(pa.large_string())
        places, kept = _renumber(candidates.row[may_stay], of_chunk)
        parts.append((candidates.query[may_stay], (places + sum(map(len, ids))).astype(np.int32), candidates.score[may_stay]))
        ids.append(kept)
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            query, place, score, ranks = rank_hits(parts, pa.concat_arrays(ids), k, chunks.ties)
            place, kept = _renumber(place, pa.concat_arrays(ids))
            parts, ids = [(query, place, score)], [kept]
            least[query[ranks == k]] = score[ranks == k]
    all_ids = pa.concat_arrays(ids)
    return rank_hits(parts, all_ids, k, chunks.ties), all_ids


def _renumber(rows: np.ndarray, ids: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the ids that some rows name, each once and in their order, and the place of each row's id among them."""
    is_named = np.zeros(len(ids), bool)
    is_named[rows] = True
    return (np.cumsum(is_named, dtype=np.int32) - 1)[rows], ids.filter(pa.array(is_named))
