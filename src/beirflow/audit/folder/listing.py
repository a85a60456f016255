"""List the content of an untrusted folder; no file is opened, no link followed."""

import os
import stat
from collections.abc import Collection, Iterator
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
"""Names of empty files without meaning: a placeholder in a repository, and Snakemake's mark of a folder that a rule made."""


@dataclass(frozen=True)
class Listing:
    """Content of a folder."""

    files: dict[str, int] = field(default_factory=dict)  # paths of plain files, each with its bytes
    # paths that are neither regular files nor readable folders, with their kinds
    odd: dict[str, str] = field(default_factory=dict)

    def oddity(self, path: str) -> tuple[str, str] | None:
        """Return the path, or the folder above it, that is no regular file or folder, and its kind; None without one."""
        return next(((parent, self.odd[parent]) for parent in _parents(path) if parent in self.odd), None)

    def folded(self, paths: Collection[str]) -> list[str]:
        """Replace paths by the highest folders that hold nothing else."""
        chosen = {*paths}
        others = {parent for path in (*self.files, *self.odd) if path not in chosen for parent in _parents(path)}
        return list(dict.fromkeys(next(part for part in _parents(path) if part not in others) for path in paths))


def list_folder(folder: Path) -> Listing:
    """List everything below a folder. Bytes of names that are not UTF-8 become surrogates."""
    listing, waiting = Listing(), [""]
    while waiting:
        current = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / current), key=lambda entry: entry.name)
        except OSError as error:
            listing.odd[current or "."] = f"a folder that cannot be read ({error.strerror})"
            continue
        for entry in entries:
            path = f"{current}/{entry.name}".lstrip("/")
            try:
                status = entry.stat(follow_symlinks=False)
                target = f" to {Path(entry).readlink()}" if stat.S_ISLNK(status.st_mode) else ""
            except OSError as error:
                listing.odd[path] = f"unreadable ({error.strerror})"
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            elif not stat.S_ISREG(status.st_mode):
                listing.odd[path] = KINDS.get(stat.S_IFMT(status.st_mode), "no plain file") + target
            elif not (entry.name in EMPTY and not status.st_size):
                listing.files[path] = status.st_size
    return listing


def printable(text: str) -> str:
    """Escape control characters and what UTF-8 cannot encode, such as the surrogates of :func:`list_folder`."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _parents(path: str) -> Iterator[str]:
    """Yield every folder above a path, the highest first, then the path."""
    parts = path.split("/")
    return ("/".join(parts[: number + 1]) for number in range(len(parts)))
