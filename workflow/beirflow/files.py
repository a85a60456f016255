"""Files: the one way to write them, so that each is whole or absent, and their digests."""

import hashlib
import json
import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from beirflow.disks import written_here
from beirflow.errors import damaged

FLUSH_BYTES = 1 << 26
"""Bytes after which a writer in the background flushes to the disk: at the end all at once takes seconds that nothing hides."""

SMALL_BYTES = 1_000_000
"""Snakemake compares smaller inputs by their contents and larger ones by their times, and so do we."""

RECORD_DIGEST = "record_sha256"
"""Last key of every JSON file: the digest of what stands above it, so that a record says itself whether it is whole."""

WAITING_WRITES = 2
"""Of a writer in the background; what waits is in memory."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to; flush and rename it when the block succeeds.

    The temporary name is a function of ``path`` alone, so that what a killed job leaves behind is overwritten by the next
    attempt and never piles up.

    Args:
        path: The file to create or replace. Missing parent folders are made.

    Yields:
        The temporary path, in the same folder and with the same suffix.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{path.name}")
    try:
        with written_here(path):
            yield partial
            _flush(partial)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _flush(path.parent)


class Buffer(Protocol):
    """Whatever shows its bytes, as Arrow's buffers do."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """The bytes."""


class DigestingWriter:
    """A file that is written, and its digest computed, in the background, while what comes next is made.

    Args:
        path: The file to write.
    """

    def __init__(self, path: Path) -> None:
        self.closed = False
        self._stream = path.open("wb")
        self._digest = hashlib.sha256()
        self._background = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[None]] = deque()
        self._unflushed = 0

    def __enter__(self) -> "DigestingWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._background.shutdown(cancel_futures=True)
            self._stream.close()

    def write(self, content: Buffer) -> int:
        """Write next; waits only when much is waiting already.

        Args:
            content: Bytes, or a memoryview that must not change afterwards; anything else is copied, since Parquet uses its
                buffers again.

        Returns:
            Number of bytes, as files do.

        Raises:
            OSError: Something before could not be written.
        """
        if len(self._pending) == WAITING_WRITES:
            self._pending.popleft().result()
        safe = content if isinstance(content, bytes | memoryview) else bytes(content)
        self._pending.append(self._background.submit(self._write, safe))
        return memoryview(safe).nbytes

    def flush(self) -> None:
        """Wait until everything so far is written.

        Raises:
            OSError: Something could not be written.
        """
        while self._pending:
            self._pending.popleft().result()
        self._stream.flush()

    def close(self) -> None:
        """Nothing: whoever opened it closes it, by leaving the block."""

    def digest(self) -> str:
        """sha256 of everything so far, as lowercase hexadecimal."""
        self.flush()
        return self._digest.hexdigest()

    def _write(self, content: bytes | memoryview) -> None:
        self._digest.update(content)
        self._stream.write(content)
        self._unflushed += memoryview(content).nbytes
        if self._unflushed >= FLUSH_BYTES:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._unflushed = 0


def _flush(path: Path) -> None:
    """Make the contents of a file, or the names in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: str | Path, record: Mapping[str, Any]) -> None:
    """Write a record as indented UTF-8 JSON, atomically, with its own digest as the last key.

    Args:
        path: The file to create or replace.
        record: Whatever the ``json`` module can write; not-a-number is refused.
    """
    content = _with_digest(record)
    with atomic_path(path) as partial:
        partial.write_bytes(content)


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a record that :func:`write_json` wrote.

    Args:
        path: The file.

    Returns:
        The record, without its digest.

    Raises:
        DataError: This is not what was written.
    """
    content = Path(path).read_bytes()
    try:
        record = json.loads(content)
        del record[RECORD_DIGEST]
        whole = content == _with_digest(record)
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise damaged(path, "this is not the record that beirflow wrote")
    return record


def _with_digest(record: Mapping[str, Any]) -> bytes:
    digest = hashlib.sha256(_json(record)).hexdigest()
    return _json({**record, RECORD_DIGEST: digest}) + b"\n"


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8")


def file_digest(path: str | Path, algorithm: str = "sha256") -> str:
    """Digest of a file's contents as lowercase hexadecimal, read in blocks."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def file_state(path: str | Path) -> str:
    """What tells a file from another that takes its name, even one that is older, as Snakemake would not.

    Args:
        path: A file.

    Returns:
        The digest of a small file, so that touching it changes nothing; of a large one, which is not read, its size and the time
        of its last change.
    """
    status = Path(path).stat()
    if status.st_size < SMALL_BYTES:
        return file_digest(path)
    return f"{status.st_size} bytes, changed at {status.st_mtime_ns} ns"
