"""Digests of files, and the state that tells a file from another of the same name."""

import errno
import hashlib
from pathlib import Path

SMALL_BYTES = 1_000_000  # Snakemake compares smaller inputs by their contents and larger ones by their times, and so do we


def file_digest(path: str | Path, algorithm: str = "sha256") -> str:
    """Return the digest of a file's contents as lowercase hexadecimal, read in blocks; OSError for a device or a pipe."""
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(errno.EINVAL, "no regular file", str(path))  # opening a pipe waits, and a device has no end
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def file_state(path: str | Path | None) -> str | None:
    """Return a file's identity, to notice another that takes its name, even an older one, as Snakemake would not.

    It is the digest of a small file, so that touching it changes nothing; of a large one, which is not read, its size and the
    time of its last change. None without a regular file.
    """
    if path is None or not Path(path).is_file():
        return None
    status = Path(path).stat()
    if status.st_size < SMALL_BYTES:
        return file_digest(path)
    return f"{status.st_size} bytes, changed at {status.st_mtime_ns} ns"
