"""An entry of a new configuration, and its name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DATASET, SYSTEM, RESULTS = "scifact", "bm25", "results"  # without an answer


class Entry(NamedTuple):
    """An entry of ``custom``, or a name of the catalogue."""

    name: str
    entry: dict[str, Any]  # empty for a name of the catalogue
    assumed: tuple[str, ...] = ()  # sentences on what was assumed of it


def safe_name(text: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    """Return a name for a folder: letters, digits and hyphens, and none that the catalogue has."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_") or "mine"
    return f"my-{name}" if name in known else name
