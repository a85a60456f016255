"""The files of papers."""

from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "catalogue"


def paper_files(own: Iterable[str] = ()) -> dict[str, Path]:
    """Return the files of papers by name: those of the project, and the user's own."""
    return {path.stem: path for path in (*sorted(FOLDER.glob("*.yaml")), *map(Path, own))}
