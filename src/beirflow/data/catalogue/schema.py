"""Problems of a configuration or a catalogue: the key, the value found, the allowed values, and the nearest name."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from beirflow import WORKFLOW
from beirflow.core.addresses import shown, without_credentials
from beirflow.core.errors import ConfigError

LAST_NUMBER = re.compile(r"\.\d+$")

CATALOGUE = WORKFLOW / "catalogue"

FAST_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML has it: every job of a cluster reads all files of the catalogue."""

MISSING = object()  # in place of the value of a key that is not there
NO_SUCH_KEY = "no such key here"  # which says all of a key
MOST_NAMES = 12  # most names in a message; of more, it has the first, behind the nearest


@dataclass
class Problems:
    """Mistakes in a configuration or a catalogue file."""

    lines: list[str] = field(default_factory=list)  # a line for each
    keys: list[str] = field(default_factory=list)  # the path of the key of each
    # by path of a system that is one of several that an entry defines, the path of the entry, which problems name
    entries: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, found: Any, allowed: str) -> None:
        """Note a problem: the path of the key, the value found, but for secrets, and what would be allowed."""
        origin = next((each for each in self.entries if key.startswith(f"{each}.")), "")
        key = self.entries.get(origin, "") + key.removeprefix(origin)
        start = "missing; " if found is MISSING else f"found {'nothing' if found is None else repr(shown(found))}; "
        # Of an entry of a list, without its number: a single value is a list of one.
        start = f"{LAST_NUMBER.sub('', key)}: {start}"
        line = start + without_credentials(allowed)
        # Of a dataset, and again of each of its forums; or of each system of an entry, whose names the lines may have.
        unknown_key = start if origin else f"{start}{NO_SUCH_KEY}"
        if not any(each.startswith((line, unknown_key)) for each in self.lines):
            self.lines.append(line)
            self.keys.append(key)

    def extend(self, others: "Problems") -> None:
        """Add problems that were noted elsewhere."""
        self.lines += others.lines
        self.keys += others.keys

    def raise_if_any(self, where: str, places: Mapping[str, str] | None = None) -> None:
        """Raise all the problems at once as a ConfigError.

        ``where`` is what was checked, for the first line of its message; ``places`` has the file and line of keys, by their path.
        """
        if self.lines:
            lines = [f"{line}{self._place(place, places or {})}" for place, line in enumerate(self.lines)]
            raise ConfigError("\n  ".join([f"{where} cannot be used:", *lines]))

    def _place(self, number: int, places: Mapping[str, str]) -> str:
        """Return the place of the key of a problem, or of the nearest key above it; empty if it is in no file."""
        key = self.keys[number] if number < len(self.keys) else ""
        while key and key not in places:
            key = key.rpartition(".")[0]
        return f" ({places[key]})" if key else ""


def nearest(name: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` if ``name`` looks like a typo of an allowed name, in whichever case, or a part of one."""
    by_lower = {each.lower(): each for each in allowed}
    low = str(name).lower()
    matches = [each for each in by_lower if low and each.startswith(low)]
    matches = matches or [each for each in by_lower if len(low) > 3 and low in each]
    # The first letter is rarely the wrong one: gpu is no typo of cpu.
    matches = matches or difflib.get_close_matches(low, [each for each in by_lower if each[:1] == low[:1]], n=1)
    return f"; did you mean {by_lower[matches[0]]!r}?" if matches else ""


def choices(value: object, allowed: Iterable[str]) -> str:
    """Return the allowed names, with the nearest one; of many, that one first and then only some."""
    names = list(allowed)
    if len(names) <= MOST_NAMES:
        return f"allowed are {', '.join(names)}{nearest(value, names)}"
    guess = nearest(value, names).removeprefix("; ")
    return f"{guess}{' ' if guess else ''}allowed are {', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} others"


def read_yaml(path: Path) -> Any:
    """Read a file that the project ships."""
    return yaml.load(path.read_bytes(), Loader=FAST_LOADER)  # noqa: S506 - both are safe
