"""Vectors on disk: a ``.npy`` file, float32, and its record, ``.json``."""

import io
import sys
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.layout import CHUNK_VECTORS
from beirflow.core.records import read_json
from beirflow.core.verified import damaged


class Vectors(Artifact):
    """The vectors of queries or of a chunk on disk."""

    pattern = CHUNK_VECTORS
    large = represents = True

    @staticmethod
    def write(stream: Stream, data: tuple[int, Iterable[np.ndarray]]) -> None:
        """Write so many vectors as they come: at least one array, float32 of shape (n, dim), none of which changes afterwards."""
        rows, windows = data
        for number, vectors in enumerate(windows):
            if number == 0:
                header = io.BytesIO()
                described = {"descr": "<f4", "fortran_order": False, "shape": (rows, vectors.shape[1])}
                np.lib.format.write_array_header_1_0(header, described)
                stream.write(header.getvalue())
            stream.write(np.ascontiguousarray(vectors).view(np.uint8).data)


class VectorFile:
    """Vectors that stay on disk; a slice reads its rows, so that memory is bounded by the slice and not by the file.

    Arguments and errors are those of :func:`read_vectors`; ``shape`` is rows and dimensions.
    """

    def __init__(self, path: str | Path, rows: int) -> None:
        mapped = read_vectors(path, rows)
        self.path = Path(path)
        self.shape: tuple[int, int] = mapped.shape
        self._header_bytes = mapped.offset

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read rows of the file, float32 of shape (rows, dim); the slice has no step."""
        start, stop, _ = rows.indices(len(self))
        dim = self.shape[1]
        offset = self._header_bytes + start * dim * np.dtype(np.float32).itemsize
        vectors = _array((max(0, stop - start), dim))
        with self.path.open("rb") as stream:
            stream.seek(offset)
            if stream.readinto(vectors.data) < vectors.nbytes:
                raise damaged(self.path, "it ends before its last vector")
        return vectors


class VectorFiles:
    """The vectors of several files, such as those of all chunks, one after the other; ``sizes`` are their rows."""

    def __init__(self, paths: Sequence[str | Path], sizes: Sequence[int]) -> None:
        self._files = [VectorFile(path, size) for path, size in zip(paths, sizes, strict=True)]
        self._firsts = [0, *accumulate(sizes)]
        self.shape = self._firsts[-1], self._files[0].shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read rows, float32 of shape (rows, dim); the slice has no step."""
        start, stop, _ = rows.indices(len(self))
        bounds = zip(self._files, self._firsts, self._firsts[1:], strict=False)
        parts = [file[max(0, start - first) : stop - first] for file, first, end in bounds if first < stop and start < end]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.shape[1]), np.float32), *parts])


def _array(shape: tuple[int, int]) -> np.ndarray:
    """Return an array, float32, whose numbers may be any; where a GPU is in use, in memory that it copies from directly."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():  # to ask for a GPU here would choose one
        return np.empty(shape, np.float32)
    vectors: np.ndarray = torch.empty(shape, dtype=torch.float32, pin_memory=True).numpy()
    return vectors


def read_vectors(path: str | Path, rows: int) -> np.memmap:
    """Map the vectors in a ``.npy`` file, float32 of shape (rows, dim).

    ``rows`` is the length of the encoded table; files are compared with their records elsewhere. Raises DataError for one that
    does not hold one vector per row.
    """
    vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    if vectors.ndim != 2 or len(vectors) != rows or vectors.dtype != np.float32:
        raise damaged(path, f"{vectors.dtype} of shape {vectors.shape}, but the table has {rows} rows of float32")
    return vectors


def similarity_of(configured: str | None, model_path: str | Path) -> str:
    """Return the similarity, ``dot`` or ``cosine``: the configured one, or that in the record of the model."""
    return configured or str(read_json(model_path)["card"]["similarity"])
