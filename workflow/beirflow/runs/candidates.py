"""The candidates of a chunk on disk: the hits of one chunk, and the facts that the merge needs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from beirflow.files.digests import file_digest
from beirflow.files.layout import record_of
from beirflow.files.records import Job, output_digest
from beirflow.files.verified import damaged
from beirflow.files.writing import atomic_path
from beirflow.runs.searched import EXPANSION_SOURCE
from beirflow.runs.ties import Ties


class Candidates(NamedTuple):
    """The top k of one chunk for every query, sorted by query, score and the order of ids at the cut.

    Attributes:
        query: Numbers of the queries, int32 of shape (n,).
        row: Rows of the documents in the chunk, int32 of shape (n,).
        score: float32 of shape (n,).
        self_matches: Documents that were dropped because they have the id of the query.
    """

    query: np.ndarray
    row: np.ndarray
    score: np.ndarray
    self_matches: int


@dataclass(frozen=True)
class Origin:
    """Origin of candidates, kept in their own file because they are temporary.

    Attributes:
        system: Name of the system.
        chunk: Number of the chunk.
        top_k: Documents kept for each query.
        inputs: What was read, queries and documents among it: sha256 by path below the results.
        sources: By path, those of the inputs that are records with one of :data:`OF_A_SOURCE`;
            what several chunks share, such as the queries, is counted once.
        seconds: How long the search took.
        made: What searched, besides what the sources were made with.
        ties: Order of the ids of documents with the same score at the cut.
        job: The job that searched.
        code: Digest of the code that searched.
    """

    system: str
    chunk: int
    top_k: int
    inputs: Mapping[str, str]
    sources: Mapping[str, Mapping[str, Any]]
    seconds: float
    made: Mapping[str, Any] = field(default_factory=dict)
    ties: Ties = "descending"
    job: str = ""
    code: str = ""


OF_A_SOURCE = ("made", "seconds", "bytes", "counts", "job", EXPANSION_SOURCE)
"""Keys of each record behind a run that the merge needs."""


def origin_of(
    job: Job,
    *,
    searched: Mapping[str, Mapping[str, Any]],
    read: Mapping[str, str] | None = None,
    trained: Mapping[str, Mapping[str, Any]] | None = None,
    **facts: Any,
) -> Origin:
    """Return the origin of the candidates of a job.

    Args:
        job: The job that searched.
        searched: The files that were searched, each with what its record holds.
        read: Other inputs, which these records do not name: sha256 by path below the results.
        trained: Paths of the records of models that were trained for this, each with what it holds.
        **facts: The fields of :class:`Origin` but ``inputs``, ``sources``, ``job`` and ``code``.

    Returns:
        All together.
    """
    inputs, sources = dict(read or {}), {}
    for path, record in searched.items():
        name = job.below(record_of(path))
        # With the inputs of the record, so that the run still names them when what was searched has been deleted.
        inputs |= record["inputs"] | {job.below(path): output_digest(record, path), name: file_digest(record_of(path))}
        sources[name] = _of_a_source(record)
    for path, record in (trained or {}).items():
        inputs[job.below(path)] = file_digest(path)
        sources[job.below(path)] = _of_a_source(record)
    return Origin(inputs=inputs, sources=sources, job=job.name, code=job.code, **facts)


def _of_a_source(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in OF_A_SOURCE if key in record}


def write_candidates(path: str | Path, candidates: Candidates, found: Origin) -> None:
    """Write candidates.

    Args:
        path: The ``.npz`` to write.
        candidates: What was found.
        found: Where they come from.
    """
    with atomic_path(path) as partial, partial.open("wb") as stream:
        np.savez(stream, **candidates._asdict(), found=json.dumps(asdict(found)))


def read_candidates(path: str | Path) -> tuple[Candidates, Origin]:
    """Read candidates.

    Args:
        path: The ``.npz``.

    Returns:
        What was found, and where it comes from.

    Raises:
        DataError: The file was damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            broken = file.zip.testzip()  # numpy does not read to the end of a member, where its checksum is compared
            columns = {name: file[name] for name in (*Candidates._fields, "found")}
            found = Origin(**json.loads(str(columns.pop("found"))))
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy, zipfile, json and what they call each have exceptions of their own
        raise damaged(path, f"the candidates cannot be read ({type(error).__name__}: {error})") from error
    if broken:
        raise damaged(path, f"found a wrong checksum of {broken}")
    return Candidates(**columns | {"self_matches": columns["self_matches"].item()}), found
