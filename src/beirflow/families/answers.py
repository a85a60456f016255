"""Systems in memory that answer queries, one at a time or in a batch, to measure their latency.

A family has a function that opens one of its systems. It computes with the functions that make its runs, so that what is timed is
what is evaluated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa

from beirflow.core.errors import BeirflowError
from beirflow.core.layout import DOCUMENTS, RUN_RECORD
from beirflow.core.patterns import Pattern
from beirflow.core.records import Job
from beirflow.core.verified import check_digest, damaged
from beirflow.families.system import System
from beirflow.ranking.ranking import Hits
from beirflow.ranking.run_file import RUN

Answer = Callable[[Sequence[str]], Hits]
"""Gives the best documents of queries by their texts: hits by query and rank, whose rows count through all chunks."""


class NoAnswerError(BeirflowError):
    """A system cannot answer single queries on this machine."""


class Opened(NamedTuple):
    """A system in memory."""

    answer: Answer  # answers a batch of queries
    where: Mapping[str, str]  # device of what is in memory, "cpu" or "cuda", by name such as "model"
    made: Mapping[str, Any] = {}  # what it computes with, such as the precision
    encode: Callable[[Sequence[str]], object] | None = None  # only the first part: from the texts to what is searched with


@dataclass(frozen=True)
class SearchRequest:
    """The system, corpus and hardware of which a family opens a system."""

    job: Job  # with the folder of results
    system: System  # its settings as they are for the corpus
    dataset: str  # name of the corpus
    run: Mapping[str, Any]  # record of its run, whose inputs are what it searched
    doc_ids: pa.Array  # all documents, chunk after chunk, strings of shape (documents,)
    sizes: Sequence[int]  # documents of each chunk
    top_k: int  # documents of an answer
    device: str  # "cuda" or "cpu"
    precision: str  # "auto", "float32", "bfloat16" or "float16"
    token_budget: int | str  # tokens of a batch, or "auto"
    threads: int  # to compute with on the CPU
    read: dict[str, str]  # digests of the files read so far, by path below the results
    systems: Mapping[str, System]  # by name, the system and those that it reads
    # Opens another system on the same corpus. It answers with as many documents: the first of them are then those of its run,
    # also where its cut breaks ties another way than ranks do.
    open: Callable[[str], Opened]

    @property
    def on(self) -> dict[str, Any]:
        """Device, precision and size of batches, as the arguments of what loads a model."""
        return {"device": self.device, "precision": self.precision, "token_budget": self.token_budget}

    @property
    def firsts(self) -> list[int]:
        """Row of the first document of each chunk."""
        return [0, *np.cumsum(self.sizes, dtype=np.int64)[:-1].tolist()]

    @property
    def documents_path(self) -> str:
        """Path of ``documents.parquet``, next to its ``corpus.json``."""
        return str(self.job.results / DOCUMENTS(dataset=self.dataset))

    def file(self, pattern: Pattern, **names: str | int) -> str:
        """Return the path of a file that the run was made from; ``names`` are those in its path besides system and corpus.

        Raises DataError if the file is another now.
        """
        path = pattern(**{"system": self.system.name, "dataset": self.dataset, **names})
        said_by = self.job.results / RUN_RECORD(system=self.system.name, dataset=self.dataset)
        if path not in self.run["inputs"]:
            raise damaged(said_by, f"it does not say that the run was made from {path}")
        self.read[path] = self.run["inputs"][path]
        check_digest(self.job.results / path, self.read[path], said_by)
        return str(self.job.results / path)

    def files(self, pattern: Pattern, **names: str | int) -> list[str]:
        """Return the paths of such files of every chunk, in order."""
        return [self.file(pattern, chunk=chunk, **names) for chunk in range(len(self.sizes))]

    def make_room(self, paths: Sequence[str], times: float) -> None:
        """Raise NoAnswerError unless files fit into memory together, each ``times`` as large there as on the disk."""
        needed, free = int(times * sum(Path(path).stat().st_size for path in paths)), psutil.virtual_memory().available
        if needed > free:
            problem = f"{needed / 1e9:,.1f} GB of memory are needed to hold what is searched, and {free / 1e9:,.1f} GB are free"
            raise NoAnswerError(problem)


Open = Callable[[SearchRequest], Opened]  # function of a family that opens a system; may raise :class:`NoAnswerError`


def nothing_excluded(queries: Sequence[str]) -> np.ndarray:
    """Return that no query has a self match, int64 of shape (queries,): they have texts and no ids."""
    return np.full(len(queries), -1)


def as_run(hits: Hits, doc_ids: pa.Array) -> pa.Table:
    """Return an answer as a run, for what makes runs of runs; the ids of its queries are their numbers, in the same order."""
    numbers, rows, scores = hits
    ranks = np.arange(1, len(rows) + 1) - np.searchsorted(numbers, numbers)
    query_ids = pa.array([f"{number:09}" for number in numbers.tolist()], pa.string())
    return pa.table([query_ids, doc_ids.take(pa.array(rows)), scores, ranks.astype(np.int32)], schema=RUN)


def as_hits(query_ids: pa.Array, doc_ids: pa.Array, scores: np.ndarray, known: Sequence[tuple[pa.Table, Hits]]) -> Hits:
    """Return the first columns of a run of :func:`as_run` as an answer, with the rows of other answers and their runs."""
    row_of: dict[str, int] = {}
    for run, (_, rows, _) in known:
        row_of |= zip(run["doc_id"].to_pylist(), rows.tolist(), strict=True)
    rows = np.array([row_of[doc_id] for doc_id in doc_ids.to_pylist()], np.int32)
    return np.array(query_ids.to_pylist(), np.int32), rows, scores
