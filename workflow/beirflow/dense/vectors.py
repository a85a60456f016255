"""Vectors on disk: a ``.npy`` file, float32, and its record, ``.json``."""

import io
from pathlib import Path

import numpy as np

from beirflow.files.layout import record_of
from beirflow.files.records import output_digest, read_json
from beirflow.files.verified import check_digest, damaged
from beirflow.files.writing import DigestingWriter


class VectorWriter:
    """Writes a ``.npy`` file in the background, while the next vectors are computed.

    Args:
        writer: Where to write.
        rows: Number of vectors that will come.
    """

    def __init__(self, writer: DigestingWriter, rows: int) -> None:
        self._writer, self._rows = writer, rows
        self._has_header = False

    def write(self, vectors: np.ndarray) -> None:
        """Write the next vectors.

        Args:
            vectors: float32 of shape (n, dim); must not change afterwards.
        """
        if not self._has_header:
            self._writer.write(_header((self._rows, vectors.shape[1])))
            self._has_header = True
        self._writer.write(np.ascontiguousarray(vectors).view(np.uint8).data)


def _header(shape: tuple[int, int]) -> bytes:
    """The header of a ``.npy`` file."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return stream.getvalue()


class VectorFile:
    """Vectors that stay on disk; a slice reads its rows, so that memory is bounded by the slice and not by the file.

    Args:
        path: The ``.npy`` file.
        rows: Rows of the table that was encoded.
        checked: Whether somebody else makes sure that the file is the one that was recorded.

    Attributes:
        path: The file.
        shape: Rows and dimensions.

    Raises:
        DataError: The file was changed after it was written, or does not hold one vector a row.
    """

    def __init__(self, path: str | Path, rows: int, *, checked: bool = False) -> None:
        mapped = read_vectors(path, rows, checked=checked)
        self.path = Path(path)
        self.shape: tuple[int, int] = mapped.shape
        self._header_bytes = mapped.offset

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Rows of the file, float32 of shape (rows, dim); the slice has no step."""
        start, stop, _ = rows.indices(len(self))
        dim = self.shape[1]
        offset = self._header_bytes + start * dim * np.dtype(np.float32).itemsize
        return np.fromfile(self.path, np.float32, count=max(0, stop - start) * dim, offset=offset).reshape(-1, dim)


def read_vectors(path: str | Path, rows: int, *, checked: bool = False) -> np.memmap:
    """Open vectors that match their record.

    Args:
        path: The ``.npy`` file.
        rows: Rows of the table that was encoded.
        checked: Whether somebody else makes sure that the file is the one that was recorded.

    Returns:
        float32 of shape (rows, dim), mapped from the file.

    Raises:
        DataError: The file was changed after it was written, or does not hold one vector a row.
    """
    if not checked:
        record_path = record_of(path)
        check_digest(path, output_digest(read_json(record_path), path), record_path)
    vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    if vectors.ndim != 2 or len(vectors) != rows or vectors.dtype != np.float32:
        raise damaged(path, f"{vectors.dtype} of shape {vectors.shape}, but the table has {rows} rows of float32")
    return vectors


def similarity_of(said: str | None, model_path: str) -> str:
    """Return the similarity of two vectors.

    Args:
        said: What the configuration says; None for what the record of the model says.
        model_path: The record of the model.

    Returns:
        ``dot`` or ``cosine``.
    """
    return said or str(read_json(model_path)["card"]["similarity"])
