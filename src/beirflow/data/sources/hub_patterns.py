"""Patterns of file names on a hub, with the meaning of fsspec."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

ANY_FOLDERS = "**"  # component of a pattern that matches any number of folders


def has_wildcards(pattern: str) -> bool:
    """Test whether a pattern can match another path than itself."""
    return any(sign in pattern for sign in "*?[")


def matching(pattern: str, paths: Sequence[str]) -> list[str]:
    """Return the paths that a pattern matches, with the meaning of fsspec, which hubs use; no pattern takes long to compare.

    Only ``**`` reaches over several folders; ValueError if a component has ``**`` and something else.
    """
    if not has_wildcards(pattern):
        return [pattern] if pattern in paths else []
    components = pattern.split("/")
    if wrong := next((each for each in components if ANY_FOLDERS in each and each != ANY_FOLDERS), None):
        raise ValueError(f"in {wrong!r}, ** is not a whole component of the path")
    # At the end, it matches files.
    components += ["*"] if components[-1] == ANY_FOLDERS else []
    return [path for path in paths if _matches(components, path.split("/"))]


def _matches(components: Sequence[str], parts: Sequence[str]) -> bool:
    """Compare component by component, with all numbers of parts that those before can match at a time."""
    ends = {0}
    for component in components:
        if component == ANY_FOLDERS:
            ends = {*range(min(ends, default=len(parts) + 1), len(parts) + 1)}
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], component)}
    return len(parts) in ends
