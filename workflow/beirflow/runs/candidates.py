"""The candidates of a chunk on disk: what ``search_chunk`` found and ``merge_chunks`` merges."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from beirflow.files.verified import damaged
from beirflow.files.writing import atomic_path


class Candidates(NamedTuple):
    """The top k of one chunk for every query, sorted by query and rank.

    Attributes:
        query: Numbers of the queries, int32 of shape (n,).
        row: Rows of the documents in the chunk, int32 of shape (n,).
        score: float32 of shape (n,).
        self_matches: Documents that were dropped because they have the id of the query.
        seconds: How long the search took.
        code: Digest of the code that searched.
    """

    query: np.ndarray
    row: np.ndarray
    score: np.ndarray
    self_matches: int
    seconds: float
    code: str = ""


def write_candidates(path: str | Path, candidates: Candidates, vectors: Sequence[str], top_k: int) -> None:
    """Write candidates.

    Args:
        path: The ``.npz`` to write.
        candidates: What was found.
        vectors: sha256 of the vectors that were searched: those of the queries, those of the chunk.
        top_k: Documents kept for each query.
    """
    with atomic_path(path) as partial, partial.open("wb") as stream:
        np.savez(stream, **candidates._asdict(), origin=_origin(vectors, top_k))


def read_candidates(path: str | Path, vectors: Sequence[str], top_k: int) -> Candidates:
    """Read candidates that were found in these vectors.

    Args:
        path: The ``.npz``.
        vectors: sha256 of the vectors of the queries and of the chunk.
        top_k: Documents kept for each query.

    Returns:
        What was found.

    Raises:
        DataError: The file was damaged, or the candidates come from other vectors or another ``top_k``.
    """
    try:
        with np.load(path, allow_pickle=False) as found:
            broken = found.zip.testzip()  # numpy does not read to the end of a member, where its checksum is compared
            columns = {name: found[name] for name in (*Candidates._fields, "origin")}
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy, zipfile and what they call each have exceptions of their own
        raise damaged(path, f"the candidates cannot be read ({type(error).__name__}: {error})") from error
    origin, expected = str(columns.pop("origin")), _origin(vectors, top_k)
    if broken or origin != expected:
        found_in = f"a wrong checksum of {broken}" if broken else f"candidates from {origin}, expected {expected}"
        raise damaged(path, f"found {found_in}")
    self_matches, seconds, code = (columns.pop(name).item() for name in ("self_matches", "seconds", "code"))
    return Candidates(**columns, self_matches=self_matches, seconds=seconds, code=code)


def _origin(vectors: Sequence[str], top_k: int) -> str:
    queries, chunk = vectors
    return f"query vectors {queries}, document vectors {chunk}, top_k {top_k}"
