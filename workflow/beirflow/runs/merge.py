"""Merge the candidates of all chunks into one run, for every family."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.datasets.corpus_files import PreparedCorpus, read_table, recorded_digest
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import Job, together, write_record
from beirflow.files.verified import damaged
from beirflow.runs.candidates import Candidates, Origin, read_candidates, totals
from beirflow.runs.ranking import Hits, Ties, rank_hits
from beirflow.runs.run_file import NewRun, run_writer
from beirflow.runs.searched import check_one_source, read_every_id

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
    doc_ids, sizes = read_every_id(corpus.documents_path)
    if len(candidate_paths) != len(sizes):
        raise DataError(
            f"{corpus.documents_path}: {len(sizes)} chunks, but candidates of {len(candidate_paths)}; search all chunks again"
        )
    chunks = _Chunks(run.system, run.top_k, inputs, job)
    first_rows = np.cumsum([0, *sizes[:-1]])
    # The k best of a chunk hold all of its documents that can be among the k best of all: what beats one there beats it here.
    query, row, score, ranks = _merge_candidates(chunks, candidate_paths, len(query_ids), first_rows, doc_ids)
    # Once all chunks are read: that a source was replaced shows only in the records of two of them.
    places = {(job.results / path).parent for path in chunks.sources}
    check_one_source(chunks.sources, places | {Path(path).parent for path in candidate_paths})
    with run_writer(run.run_path) as write:
        for start_row in range(0, len(query), RUN_ROWS):
            part = slice(start_row, start_row + RUN_ROWS)
            write(query_ids.take(pa.array(query[part])), doc_ids.take(pa.array(row[part])), score[part], ranks[part])
    sources = list(chunks.sources.values())
    seconds = {**totals(sources, "seconds"), "search": chunks.seconds}
    write_record(
        run.record_path,
        job,
        inputs={job.results / path: digest for path, digest in chunks.inputs.items()},
        outputs={run.run_path: file_digest(run.run_path)},
        made=together([*(each["made"] for each in sources if "made" in each), *chunks.made]),
        seconds=seconds | {"merge": time.perf_counter() - start},
        sizes=totals(sources, "bytes"),
        counts={**totals(sources, "counts"), "self_matches_dropped": chunks.self_matches},
        system=run.system,
        dataset=run.dataset,
        top_k=run.top_k,
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
        """Read and check the candidates of the next chunk."""
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
    chunks: _Chunks, paths: Sequence[str], queries: int, first_rows: np.ndarray, doc_ids: pa.Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the k best of each query: query, row in the corpus, score and rank, sorted by query and rank.

    Candidates are cut to the k best whenever many have been read, so that memory does not grow with the number of chunks; from
    then on only those are kept that score at least as high as the k-th, which leaves fewer from each chunk.
    """
    k = chunks.top_k
    parts: list[Hits] = []
    least = np.full(queries, -np.inf, np.float32)
    for first_row, candidates in zip(first_rows, map(chunks.read, paths), strict=True):
        # Equal scores stay too: their ids decide at the cut.
        may_stay = candidates.score >= least[candidates.query]
        rows = (candidates.row[may_stay] + first_row).astype(np.int32)
        parts.append((candidates.query[may_stay], rows, candidates.score[may_stay]))
        if sum(len(part[0]) for part in parts) > CANDIDATES:
            query, row, score, ranks = rank_hits(parts, doc_ids, k, chunks.ties)
            parts = [(query, row, score)]
            least[query[ranks == k]] = score[ranks == k]
    return rank_hits(parts, doc_ids, k, chunks.ties)
