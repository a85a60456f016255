"""The content of an untrusted folder: no file is opened, no link followed."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from beirflow.run.undocumented import TIMESTAMP

KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}

EMPTY = (".gitkeep", TIMESTAMP)
"""Names of empty files that mean nothing: one keeps a folder in a repository, one is Snakemake's in a folder that a rule made."""


@dataclass(frozen=True)
class Listing:
    """Content of a folder."""

    files: dict[str, int] = field(default_factory=dict)  # paths of plain files, each with its bytes
    # what is neither a plain file nor a folder, or cannot be looked into, and what it is instead
    odd: dict[str, str] = field(default_factory=dict)

    def oddity(self, path: str) -> tuple[str, str] | None:
        """Return why a path is no plain file: the path itself or a folder above it, and its kind."""
        for parent in _parents(path):
            if parent in self.odd:
                return parent, self.odd[parent]
        return None


def list_folder(folder: Path) -> Listing:
    """List everything below a folder. A name that is no UTF-8 has surrogates in place of its other bytes."""
    found, waiting = Listing(), [""]
    while waiting:
        current = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / current), key=lambda entry: entry.name)
        except OSError as error:
            found.odd[current or "."] = f"a folder that cannot be read ({error.strerror})"
            continue
        for entry in entries:
            path = f"{current}/{entry.name}".lstrip("/")
            try:
                status = entry.stat(follow_symlinks=False)
                target = f" to {Path(entry).readlink()}" if stat.S_ISLNK(status.st_mode) else ""
            except OSError as error:
                found.odd[path] = f"what cannot be looked at ({error.strerror})"
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            elif not stat.S_ISREG(status.st_mode):
                found.odd[path] = KINDS.get(stat.S_IFMT(status.st_mode), "no plain file") + target
            elif not (entry.name in EMPTY and not status.st_size):
                found.files[path] = status.st_size
    return found


def printable(text: str) -> str:
    """Escape what moves a terminal's cursor or cannot be written as UTF-8, such as the surrogates of :func:`list_folder`."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _parents(path: str) -> Iterator[str]:
    """List a path and every folder above it, the highest first."""
    parts = path.split("/")
    return ("/".join(parts[: number + 1]) for number in range(len(parts)))
