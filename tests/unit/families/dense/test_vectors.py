"""Vectors on disk are those that were written, or an error."""

import hashlib
import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_record
from beirflow.core.writing import DigestingWriter
from beirflow.families.dense.vectors import VectorFile, VectorFiles, Vectors, read_vectors

VECTORS = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)


def store(path: Path, vectors: np.ndarray = VECTORS) -> Path:
    np.save(path, vectors)
    write_record(path.with_suffix(".json"), Job(path.parent), inputs={}, outputs={path: file_digest(path)})
    return path


@pytest.mark.parametrize("bounds", [[0, 50], [0, 1, 30, 50], [0, 0, 20, 20, 50], [0, 0]])
def test_parts_are_written_as_numpy_writes_the_whole(tmp_path: Path, bounds: list[int]) -> None:
    with DigestingWriter(tmp_path / "v.npy") as stream:
        Vectors.write(stream, (bounds[-1], (VECTORS[first:last] for first, last in pairwise(bounds))))
        digest = stream.digest()
    whole = io.BytesIO()
    np.save(whole, VECTORS[: bounds[-1]])
    assert (tmp_path / "v.npy").read_bytes() == whole.getvalue()
    assert digest == hashlib.sha256(whole.getvalue()).hexdigest()


@pytest.mark.parametrize("rows", [slice(0, 50), slice(10, 30), slice(45, 99), slice(7, 7), slice(60, 70)])
@pytest.mark.parametrize("count", [50, 0])
def test_a_slice_reads_its_rows(tmp_path: Path, rows: slice, count: int) -> None:
    file = VectorFile(store(tmp_path / "v.npy", VECTORS[:count]), count)
    assert (len(file), file.shape) == (count, (count, 6))
    np.testing.assert_array_equal(file[rows], VECTORS[:count][rows])
    assert file[rows].dtype == np.float32


@pytest.mark.parametrize("rows", [slice(0, 50), slice(10, 30), slice(19, 20), slice(20, 21), slice(7, 7), slice(45, 99)])
def test_several_files_are_read_as_one(tmp_path: Path, rows: slice) -> None:
    sizes, parts = [20, 0, 1, 29], np.split(VECTORS, [20, 20, 21])
    paths = [str(store(tmp_path / f"{number}.npy", part)) for number, part in enumerate(parts)]
    files = VectorFiles(paths, sizes)
    assert (len(files), files.shape) == (50, (50, 6))
    np.testing.assert_array_equal(files[rows], VECTORS[rows])
    assert files[rows].dtype == np.float32


def test_a_file_that_is_cut_while_it_is_read_is_damaged(tmp_path: Path) -> None:
    file = VectorFile(store(tmp_path / "v.npy"), 50)
    with file.path.open("r+b") as stream:
        stream.truncate(file.path.stat().st_size - 1)
    np.testing.assert_array_equal(file[:49], VECTORS[:49])
    with pytest.raises(DataError, match="it ends before its last vector"):
        file[40:50]


@pytest.mark.parametrize("vectors", [VECTORS[:49], VECTORS[0], VECTORS.astype(np.float64)])
def test_a_file_that_does_not_hold_a_float32_vector_a_row_is_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    path = store(tmp_path / "v.npy", vectors)
    for open_file in (VectorFile, read_vectors):
        with pytest.raises(DataError, match=r"v\.npy: .*rm "):
            open_file(path, 50)
