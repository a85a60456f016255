"""The part of a configuration that can be checked further although another part is wrong.

Every check adds its problems to one list and goes on with what is left, so that a person reads all mistakes at once. Whatever
depends on something that is wrong is left out too, so that one mistake has one message.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from beirflow.catalogue.schema import Problems

UNKNOWN: Mapping[str, Any] = {"systems": [], "datasets": [], "top_k": 1 << 60}
"""Values in place of wrong ones from which no other problem follows; for other keys that is the default."""

Entries = Mapping[str, Mapping[str, Any]]


def without_wrong_keys(config: Mapping[str, Any], defaults: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return a configuration with defaults for missing keys, and harmless values for wrong keys at the top level.

    ``custom`` stays as it is, unless it is no mapping of mappings.
    """
    wrong = {key.partition(".")[0] for key in problems.keys} - {"custom"}
    wrong |= {"custom"} if {"custom", "custom.systems", "custom.datasets"} & set(problems.keys) else set()
    return {**defaults, **config, **{key: UNKNOWN.get(key, defaults.get(key)) for key in wrong}}


def without_wrong_entries(kind: str, entries: Entries, problems: Problems) -> dict[str, Mapping[str, Any]]:
    """Return the entries of ``custom`` that are right, and name none that is wrong, directly or through others.

    ``kind`` is ``systems`` or ``datasets``.
    """
    paths = {name: f"custom.{kind}.{name}" for name in entries}
    wrong = {name for name, path in paths.items() for key in problems.keys if key == path or key.startswith(f"{path}.")}
    while more := {name for name, entry in entries.items() if name not in wrong and not wrong.isdisjoint(_strings(entry))}:
        wrong |= more
    return {name: entry for name, entry in entries.items() if name not in wrong}


def _strings(value: Any) -> Iterable[str]:
    """Yield all strings inside an entry."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)
