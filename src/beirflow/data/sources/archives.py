"""Zip archives of datasets, hostile until checked."""

import lzma
import shlex
import stat
import struct
import zipfile
import zlib
from collections.abc import Container
from pathlib import Path, PurePosixPath

from beirflow.core.errors import DataError

BOMB_BYTES, BOMB_RATIO = 1 << 30, 200
"""Text is packed about four times as small; a large file in an archive that is packed this many times as small is none."""

ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, OSError, RuntimeError, ValueError),
)
"""Errors of the standard library about damaged archives, by the place of the damage."""


def is_archive(path: str | Path) -> bool:
    """Test whether a dataset's path is that of an archive, by its name, and not of a folder with such a name."""
    return Path(path).suffix.lower() == ".zip" and not Path(path).is_dir()


def get_again(path: Path) -> str:
    """Return the advice about a damaged archive."""
    return f"replace it, or, if it was downloaded by beirflow, delete it and run again: rm {shlex.quote(str(path))}"


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open an archive whose members do nothing that members of an honest archive do not.

    Raises DataError if it is missing or damaged, or if a member leaves its folder, is a link, comes twice, or unpacks to too
    much.
    """
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such archive") from None
    except ZIP_ERRORS as error:
        raise DataError(f"{path}: not a zip archive that can be read ({error}); {get_again(path)}") from error
    names: set[str] = set()
    for member in archive.infolist():
        if problem := _problem_with(member, names):
            raise DataError(f"{path}: the archive has a member that {problem}, {member.filename!r}; do not trust this archive")
        names.add(member.filename)
    return archive


def _problem_with(member: zipfile.ZipInfo, names: Container[str]) -> str | None:
    """Return the property that no member of an honest archive has."""
    name = member.filename
    if name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts or ":" in name.split("/")[0]:
        return "would leave its folder"
    # The upper half holds Unix's mode.
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a symbolic link"
    if name in names:
        return "is there twice"
    if member.file_size > max(BOMB_BYTES, BOMB_RATIO * member.compress_size):
        return f"unpacks to {member.file_size:,} bytes from {member.compress_size:,}"
    return None
