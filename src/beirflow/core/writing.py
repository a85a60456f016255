"""Write a file so that it is whole or absent."""

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from beirflow.core.disks import written_here

FLUSH_BYTES = 1 << 26
"""Bytes after which a writer in the background flushes to the disk: at the end all at once takes seconds that nothing hides."""

PARTIAL = ".partial-"  # beginning of the name of a file or folder that is being written, or that an interrupted job left

OWN = secrets.token_hex(8)
"""Part of the temporary names of this process: two processes that make the same file never write into one another's."""

WAITING_WRITES = 2  # most writes of a background writer that wait, and so are in memory


def own_partial(path: Path) -> Path:
    """Return a temporary name next to a file or folder, with the same suffix, that no other process uses.

    What a killed process left behind under such a name is removed. Where nothing keeps two jobs from making the same file, that
    may be a file that another job is writing; that job then fails, and this one continues.
    """
    left = re.compile(rf"{re.escape(PARTIAL + path.stem)}\.[0-9a-f]{{{len(OWN)}}}{re.escape(path.suffix)}")
    with os.scandir(path.parent) as entries:
        leftovers = [entry.path for entry in entries if left.fullmatch(entry.name)]
    for leftover in leftovers:
        _remove(Path(leftover))
    return path.with_name(f"{PARTIAL}{path.stem}.{OWN}{path.suffix}")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary name in the folder of ``path``, with its suffix, to write to; flush and rename it if the block succeeds.

    The block writes a file, or makes a folder. Missing parent folders are made. Raises FileNotFoundError if the block wrote
    nothing, or if another process that makes this file removed it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = own_partial(path)
    try:
        with written_here(path):
            _remove(partial)  # a link would be written through
            yield partial
            if not partial.exists():
                problem = f"{partial.name} is gone, probably because two jobs write this file at the same time"
                raise FileNotFoundError(errno.ENOENT, problem, str(path))
            # Files before their folder, whose names they are.
            for each in (*sorted(partial.rglob("*"), reverse=True), partial):
                _flush(each)
            if partial.is_dir():
                _remove(path)
            os.replace(partial, path)
            # The new name is in the folder.
            _flush(path.parent)
    except BaseException:
        _remove(partial)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


class DigestingWriter:
    """File that is written and digested in the background."""

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

    def write(self, content: Any) -> int:
        """Write next and return the number of bytes, as files do; waits only when much is waiting already.

        Bytes and memoryviews must not change afterwards; any other buffer is copied, since Parquet uses its buffers again. Raises
        OSError if something before could not be written.
        """
        if len(self._pending) == WAITING_WRITES:
            self._pending.popleft().result()
        safe = content if isinstance(content, bytes | memoryview) else bytes(content)
        self._pending.append(self._background.submit(self._write, safe))
        return memoryview(safe).nbytes

    def flush(self) -> None:
        """Wait until everything so far is written; OSError if something could not be."""
        while self._pending:
            self._pending.popleft().result()
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: leaving the block closes it."""

    def digest(self) -> str:
        """Return the sha256 of everything so far, as lowercase hexadecimal."""
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


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
