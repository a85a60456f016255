"""Whoever changes any fact of any record, and makes every digest above it again, is found out; or the fact is listed."""

import random
from collections.abc import Iterator
from typing import Any

from beirflow.audit.uncompared import UNCOMPARED
from beirflow.files.errors import DataError
from forger import Forger
from results_maker import Made

FACTS = 16
"""Facts that are changed, other ones in every run; each takes an audit."""

DIGESTS = ("inputs", "outputs")
"""Of files, which the forger makes again; what they lead to is tested by ``test_audit.py``."""


def leaves(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to every value that holds no others."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from leaves(each, (*keys, key))
    if not inside and keys:
        yield keys


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 2 + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return {} if isinstance(value, list) else "something"


def every_fact(forger: Forger) -> list[tuple[str, tuple[Any, ...]]]:
    """All facts of all records, by file and keys."""
    names = sorted(path.relative_to(forger.results).as_posix() for path in forger.results.rglob("*.json"))
    return [(name, keys) for name in names for keys in leaves(forger.read(name)) if keys[0] not in DIGESTS]


def forge(forger: Forger, name: str, keys: tuple[Any, ...]) -> None:
    """Change one fact, and make everything above it again."""

    def change(record: dict[str, Any]) -> None:
        place: Any = record
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = changed(place[keys[-1]])

    forger.edit(name, change)
    try:
        forger.digest_summary_again()
    except (DataError, KeyError, TypeError, ValueError):  # of metrics that no summary can be made of
        forger.digest_again()


def is_listed(name: str, keys: tuple[Any, ...]) -> bool:
    """Whether the audit says of a fact that nothing is compared with it."""
    return any(fact.covers(name, "/".join(map(str, keys))) for fact in UNCOMPARED)


def test_any_fact_that_is_changed_is_noticed_or_listed(original: Made, tmp_path) -> None:
    seed = random.randrange(1 << 32)
    facts = every_fact(Forger.of(original, tmp_path / "all"))
    missed = []
    for number, (name, keys) in enumerate(random.Random(seed).sample(facts, FACTS)):
        forger = Forger.of(original, tmp_path / str(number))
        forge(forger, name, keys)
        if not is_listed(name, keys) and not forger.noticed():
            missed.append((name, keys))
    assert missed == [], seed
