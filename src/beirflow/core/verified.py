"""Read a result file only if it matches the digest recorded when it was written; a mismatch is an error that names the repair."""

import shlex
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import record_of


def check_digest(path: str | Path, expected: str, source: str | Path) -> None:
    """Check that a file, which is read as a whole, has the sha256 that ``source``, its record, states; else DataError."""
    digest = file_digest(path)
    if digest != expected:
        raise damaged(path, f"sha256 {digest}, but {source} says {expected}")


@contextmanager
def checked_while_read(digests: Mapping[str, str]) -> Iterator[None]:
    """Work with files while another thread compares them with their sha256, given by path; write nothing meanwhile.

    Raises DataError at the end if a file was changed after it was written, whatever else that has led to.
    """

    def check() -> None:
        """Raise DataError if a file changed."""
        for path, digest in digests.items():
            check_digest(path, digest, record_of(path))

    with ThreadPoolExecutor(max_workers=1) as background:
        checked = background.submit(check)
        try:
            yield
        finally:
            checked.result()


@contextmanager
def unchanged(path: str | Path) -> Iterator[str]:
    """Read a source outside the results, and give its sha256; DataError if it changed while the block ran."""
    digest = file_digest(path)
    yield digest
    if file_digest(path) != digest:
        raise DataError(f"{path}: the file changed while it was read; run again once it is complete")


@contextmanager
def reading(path: str | Path, what: str = "it") -> Iterator[None]:
    """Report a file that Arrow cannot read, or what it should hold, as damaged; not where the disk or the network is to blame."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        # Only the operating system gives numbers.
        if getattr(error, "errno", None):
            raise
        raise damaged(path, f"{what} cannot be read ({error})") from error


def damaged(path: str | Path, problem: str) -> DataError:
    """Return the error for a file of the results that is not what was written, with the command that makes it again."""
    todo = f"delete it and run again: rm {shlex.quote(str(path))}"
    return DataError(f"{path}: {problem}; the file was damaged or replaced after it was written; {todo}")
