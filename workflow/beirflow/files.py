"""Files: the one way to write them, so that each is whole or absent, and their digests."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BLOCK_BYTES = 1 << 22


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
        yield partial
        _flush(partial)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _flush(path.parent)


def _flush(path: Path) -> None:
    """Make the contents of a file, or the names in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON, atomically.

    Args:
        path: The file to create or replace.
        value: Anything that the ``json`` module can write; not-a-number is refused.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_path(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_json(path: str | Path) -> Any:
    """Read a JSON file that this package wrote."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def file_digest(path: str | Path, algorithm: str = "sha256") -> str:
    """Digest of a file's contents as lowercase hexadecimal, read in blocks."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()
