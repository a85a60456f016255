"""Given vectors on disk: a table of numbers, ``.npy``, and the id of each row, a line of a text file."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.data.sources.json_lines import short

NUMBERS = ("float16", "float32", "float64")
AGAIN = "write it with numpy.save(path, vectors.astype(numpy.float32))"


class Place(NamedTuple):
    """The files of the vectors of queries or of documents."""

    vectors: str
    ids: str


@dataclass(frozen=True)
class GivenVectors:
    """Vectors and their ids."""

    vectors: np.ndarray  # of shape (n, dim), in one of :data:`NUMBERS`, on disk
    ids: pa.Array  # n different texts


def open_vectors(place: Place) -> GivenVectors:
    """Open vectors; DataError unless they are a table of numbers with an id of its own for every row. Nothing is unpickled."""
    vectors, ids = _mapped(place.vectors), _read_ids(place.ids)
    if len(vectors) != len(ids):
        problem = f"{len(vectors):,} vectors, but {place.ids} has {len(ids):,} ids"
        raise DataError(f"{place.vectors}: found {problem}; one id a line was expected for each vector, in their order")
    return GivenVectors(vectors, ids)


def _mapped(path: str) -> np.ndarray:
    """Map the table of a ``.npy`` file; not by numpy.load, which would read other formats too, and unpickle."""
    try:
        with Path(path).open("rb") as stream:
            if (version := np.lib.format.read_magic(stream)) != (1, 0):
                raise ValueError(f"version {version} of the format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
            expected = stream.tell() + math.prod(shape) * dtype.itemsize
    except (ValueError, TypeError, OverflowError, EOFError, MemoryError) as error:
        raise DataError(f"{path}: expected a table of numbers as numpy.save writes it, found {error}; {AGAIN}") from error
    if dtype.name not in NUMBERS or len(shape) != 2 or min(shape) < 1:
        found = f"{dtype.name} of shape {shape}"
        raise DataError(f"{path}: expected {', '.join(NUMBERS)} of shape (texts, dimensions), found {found}; {AGAIN}")
    if (size := Path(path).stat().st_size) != expected:
        raise DataError(f"{path}: found {size:,} bytes, but {expected:,} are expected by its header; {AGAIN}")
    return np.lib.format.open_memmap(path, mode="r")


def _read_ids(path: str) -> pa.Array:
    """Read the ids of a file, one a line."""
    content = Path(path).read_bytes()
    if b"\r" in content:
        raise DataError(f"{path}: found a carriage return; end lines with a line feed alone, as in: tr -d '\\r'")
    lines = pc.split_pattern(pa.array([content.removesuffix(b"\n")], pa.large_binary()), b"\n").flatten()
    try:
        ids = lines.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: expected ids in UTF-8, one a line; convert the file ({error})") from error
    if (empty := pc.index(ids, pa.scalar("", ids.type)).as_py()) >= 0:
        raise DataError(f"{path}:{empty + 1}: the line is empty; expected the id of the vector in this row")
    if pc.count_distinct(ids).as_py() < len(ids):
        rows = pc.index_in(ids, value_set=pc.unique(ids)).to_numpy()
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        line = int(np.argmax(first[inverse] != np.arange(len(ids))))
        found = f"the id {short(ids[line].as_py())} is in line {first[inverse][line] + 1} already"
        raise DataError(f"{path}:{line + 1}: {found}; one vector of each text was expected")
    return ids


def rows_of(place: Place, given: GivenVectors, ids: pa.Array, what: str) -> np.ndarray:
    """Return the rows of the vectors of texts, int64; DataError if some text has none, with ``what`` it is in the message."""
    rows = pc.index_in(ids.cast(given.ids.type), value_set=given.ids)
    if rows.null_count:
        first = ids[pc.index(rows.is_null(), True).as_py()].as_py()
        problem = f"{rows.null_count:,} of {len(ids):,} {what} have no vector, first {short(first)}"
        raise DataError(f"{place.ids}: {problem}; are these the vectors of another dataset or split?")
    return rows.to_numpy().astype(np.int64)


def check_unchanged(path: str, expected: str, record: str | Path) -> None:
    """Raise DataError unless a given file has the digest in the record of the vectors."""
    if (digest := file_digest(path)) != expected:
        problem = f"sha256 {digest}, but {record} has {expected}"
        raise DataError(f"{path}: {problem}; the file was replaced meanwhile: check it again with --forcerun check_vectors")
