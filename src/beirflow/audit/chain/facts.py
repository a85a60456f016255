"""Facts that several files state, compared with each other."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError

RELATIVE = 1e-9  # relative tolerance between sums of the same numbers in different orders


@dataclass
class Comparison:
    """Facts of one kind that are compared."""

    chain: Chain  # what records say
    name: str  # the name of the check
    compared: int = 0  # facts that were looked at
    checks: list[Check] = field(default_factory=list)  # those that do not agree, and those that there was nothing to compare with

    def same(self, path: str, what: str, found: Any, expected: Any, by: str, key: str | None = None) -> None:
        """Compare what a file states with what it should, by ``by``; ``key`` is ``what`` with "/" for " / " if None."""
        self.compared += 1
        self.chain.note(path, what.replace(" / ", "/") if key is None else key, found, by)
        if not agree(found, expected):
            if isinstance(found, Mapping) and isinstance(expected, Mapping):
                found, expected = _without_equal(found, expected), _without_equal(expected, found)
            says = f"{path} says {what} {_shown(found)}"
            self.checks.append(self.chain.failed(self.name, path, says, f"{_shown(expected)}, by {by}"))

    def known(self, path: str, found: Mapping[str, Any], expected: Mapping[str, Any], by: str, under: str = "") -> None:
        """Compare those facts that both know, where neither is None; ``under`` is the key that leads to what was found."""
        for key, value in expected.items():
            if value is not None and found.get(key) is not None:
                self.same(path, key, found[key], value, by, f"{under}/{key}".lstrip("/"))

    def not_compared(self, what: str, *paths: str) -> None:
        """Note that there is nothing to compare something with."""
        self.checks.append(Check(self.name, NOT_CHECKED, what, "", paths))

    def each(self, paths: Iterable[str], compare: Callable[["Comparison", str], None]) -> None:
        """Compare the facts of several files; one that lacks something keeps no other from being compared."""
        for path in paths:
            try:
                compare(self, path)
            except UNREADABLE as error:
                if not self._is_known(error):
                    self.checks.append(self.chain.unreadable(self.name, path, error))

    def finished(self) -> list[Check]:
        """Return the checks, with one that says how many facts agree."""
        wrong = sum(check.status == FAILED for check in self.checks)
        agree = self.compared - wrong
        return [*self.checks, *([Check(self.name, PASSED, f"{agree} facts agree")] if agree > 0 else [])]

    def _is_known(self, error: Exception) -> bool:
        """Test whether an error is about a record that was found unreadable, or missing, before."""
        path = error.path if isinstance(error, RecordError) else None
        return path is not None and path in self.chain.records and self.chain.records[path] is None


def agree(found: Any, expected: Any) -> bool:
    """Test whether two values are the same in JSON; fractions may differ as sums in another order do."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return found.keys() == expected.keys() and all(agree(found[key], expected[key]) for key in expected)
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(agree, found, expected))
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=RELATIVE)
    if isinstance(found, int | float) and isinstance(expected, int | float):
        return found == expected
    return type(found) is type(expected) and bool(found == expected)


def _without_equal(found: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts that are not the same on the other side."""
    return {key: value for key, value in found.items() if key not in expected or not agree(value, expected[key])}


def as_json(value: Any) -> Any:
    """Return a value as a record gives it back."""
    return json.loads(json.dumps(value))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"
