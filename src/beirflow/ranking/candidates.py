"""The candidates of a chunk on disk: the hits of one chunk, and the facts that the merge needs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.records import Job, output_digest
from beirflow.core.verified import damaged
from beirflow.core.writing import atomic_path
from beirflow.ranking.ranking import Ties
from beirflow.ranking.searched import EXPANSION_SOURCE


class Candidates(NamedTuple):
    """The top k of one chunk for every query, sorted by query, score and the order of ids at the cut."""

    query: np.ndarray  # numbers of the queries, int32 of shape (n,)
    row: np.ndarray  # rows of the documents in the chunk, int32 of shape (n,)
    score: np.ndarray  # float32 of shape (n,)
    self_matches: int  # documents that were dropped because they have the id of the query


@dataclass(frozen=True)
class Origin:
    """Origin of candidates, kept in their own file because they are temporary."""

    system: str
    chunk: int
    top_k: int  # documents kept for each query
    inputs: Mapping[str, str]  # sha256 of what was read, queries and documents among it, by path below the results
    # By path, those of the inputs that are records, with the keys of OF_A_SOURCE: what several chunks share is counted once.
    sources: Mapping[str, Mapping[str, Any]]
    seconds: float  # of the search
    made: Mapping[str, Any] = field(default_factory=dict)  # what searched, besides what the sources were made with
    ties: Ties = "descending"  # order of the ids of documents with the same score at the cut
    job: str = ""  # that searched
    code: str = ""  # digest of the code that searched


OF_A_SOURCE = ("made", "seconds", "bytes", "counts", "job", EXPANSION_SOURCE)
"""Keys of each record behind a run that the merge needs."""


def origin_of(
    job: Job,
    *,
    searched: Mapping[str, Mapping[str, Any]],
    read: Mapping[str, str] | None = None,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    **facts: Any,
) -> Origin:
    """Return the origin of the candidates of a job that searched.

    ``searched`` are the files that were searched, each with the content of its record, ``read`` the sha256 of other inputs, by
    path below the results, and ``models`` the records of models that were made for this, by their paths; ``facts`` are the
    other fields of :class:`Origin`.
    """
    # Facts of records are copied, since representations may be deleted, and records made anew, before the merge.
    inputs, sources = dict(read or {}), {}
    for path, record in searched.items():
        name = job.below(record_of(path))
        # With the inputs of the record, so that the run still names them when what was searched has been deleted.
        inputs |= record["inputs"] | {job.below(path): output_digest(record, path), name: file_digest(record_of(path))}
        sources[name] = _of_a_source(record)
    for path, record in (models or {}).items():
        inputs[job.below(path)] = file_digest(path)
        sources[job.below(path)] = _of_a_source(record)
    return Origin(inputs=inputs, sources=sources, job=job.name, code=job.code, **facts)


def _of_a_source(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in OF_A_SOURCE if key in record}


def write_candidates(path: str | Path, candidates: Candidates, origin: Origin) -> None:
    """Write candidates and their origin as ``.npz``."""
    with atomic_path(path) as partial, partial.open("wb") as stream:
        np.savez(stream, **candidates._asdict(), found=json.dumps(asdict(origin)))


def read_candidates(path: str | Path) -> tuple[Candidates, Origin]:
    """Read candidates and their origin. Raises DataError if the file was damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            broken = file.zip.testzip()  # numpy does not read to the end of a member, where its checksum is compared
            columns = {name: file[name] for name in (*Candidates._fields, "found")}
            origin = Origin(**json.loads(str(columns.pop("found"))))
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy, zipfile, json and what they call each have exceptions of their own
        raise damaged(path, f"the candidates cannot be read ({type(error).__name__}: {error})") from error
    if broken:
        raise damaged(path, f"found a wrong checksum of {broken}")
    return Candidates(**columns | {"self_matches": columns["self_matches"].item()}), origin
