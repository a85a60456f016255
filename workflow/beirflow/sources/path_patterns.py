"""Patterns of paths with ``*``, ``**``, ``?`` and ``[…]``, as cards of datasets have them; no pattern takes long to compare.

The meaning is that of fsspec, which hubs use: only ``**``, which must be a whole component, reaches over several folders.
"""

import fnmatch
import re
from collections.abc import Sequence
from itertools import pairwise

ANY_FOLDERS = "**"


def has_wildcards(pattern: str) -> bool:
    """Test whether a pattern can match another path than itself."""
    return any(sign in pattern for sign in "*?[")


def matching(pattern: str, paths: Sequence[str]) -> list[str]:
    """Return the paths that a pattern, components separated by slashes, matches as a whole, in the same order.

    Raises ValueError if a component has ``**`` and something else.
    """
    if not has_wildcards(pattern):
        return [pattern] if pattern in paths else []
    texts = pattern.split("/")
    components = [_component(text) for before, text in pairwise(["", *texts]) if not before == text == ANY_FOLDERS]
    if components[-1] is None:
        components.append(_component("*"))
    return [path for path in paths if _matches(components, path.split("/"))]


def _component(text: str) -> re.Pattern[str] | None:
    """Return the expression of a component, in which no part is tried twice; None for any number of folders."""
    if text == ANY_FOLDERS:
        return None
    if ANY_FOLDERS in text:
        raise ValueError(f"in {text!r}, ** is not a whole component of the path")
    return re.compile(fnmatch.translate(text))


def _matches(components: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """Compare part by part, following all possible positions in the pattern at a time."""
    positions = _without_folders({0}, components)
    for part in parts:
        candidates = [(position, components[position]) for position in positions if position < len(components)]
        staying = {position for position, component in candidates if component is None}
        passing = {position + 1 for position, component in candidates if component and component.match(part)}
        positions = _without_folders(staying | passing, components)
    return len(components) in positions


def _without_folders(positions: set[int], components: Sequence[re.Pattern[str] | None]) -> set[int]:
    """Add the position behind a ``**``, which may stand for no folder; two never follow each other."""
    return positions | {position + 1 for position in positions if position < len(components) and components[position] is None}
