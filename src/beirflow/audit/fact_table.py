"""The table of facts: every key of records and column of tables for readers, and what an audit compared it with.

It is computed: a check notes what it compares (:meth:`~beirflow.audit.chain.chain.Chain.note`); all else is not compared.
Digests of files are left out; every one of them is compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import UNREADABLE
from beirflow.audit.chain.reading import columns_of, read_record
from beirflow.core import kinds, layout
from beirflow.core.errors import DataError
from beirflow.core.kinds import PATTERNS
from beirflow.core.layout import SUMMARY
from beirflow.core.records import RECORD_DIGEST
from beirflow.data.catalogue.schema import nearest

DIGESTS = ("inputs", "outputs")

MOST = 200_000  # values of one record that are looked at; a forged record may have millions
FURTHER = "further keys"  # of a record with more values


class Fact(NamedTuple):
    """A key that records of one kind state, or a column of tables."""

    file: str  # pattern of the paths of the records or tables
    key: str  # keys that lead to it, joined with slashes, without places in lists; or the column
    places: int  # number of its values in all records, or of tables that have it
    compared: int  # number of these that were compared
    by: str  # an example of what one was compared with; empty if none was


def leaves(value: Any) -> Iterator[tuple[Any, ...]]:
    """List the keys, and places in lists, that lead to each value that holds no others; nothing for an empty list."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting:
        keys, each = waiting.pop()
        if each and isinstance(each, dict):
            waiting += [((*keys, key), part) for key, part in reversed(each.items())]
        elif isinstance(each, list):
            waiting += [((*keys, place), part) for place, part in reversed([*enumerate(each)])]
        elif keys:
            yield keys


def fact_table(chain: Chain) -> list[Fact]:
    """Return the facts of all records and tables, in the order of files and keys, with what the checks noted as compared."""
    compared: dict[tuple[str, str], list[str]] = {}
    for path, column in _columns(chain):
        compared.setdefault((_kind_of(path), column), []).append(_compared_with(chain, path, (column,)))
    for path, record in {**chain.records, **dict(_for_reading(chain))}.items():
        file = _kind_of(path)
        for number, keys in enumerate(leaves(record)):
            if number == MOST:
                compared.setdefault((file, FURTHER), []).append("")
                break
            if keys[0] not in DIGESTS:
                name = "/".join(key for key in keys if isinstance(key, str))
                compared.setdefault((file, name), []).append(_compared_with(chain, path, keys))
    return [
        Fact(file, key, len(by), sum(map(bool, by)), next(filter(None, by), "")) for (file, key), by in sorted(compared.items())
    ]


def _columns(chain: Chain) -> Iterator[tuple[str, str]]:
    """List the tables for readers, each with its columns; nothing of one that cannot be read."""
    for path in sorted(chain.listing.files):
        if path == SUMMARY or kinds.is_for_reading(path):
            with suppress(*UNREADABLE):
                yield from ((path, column) for column in columns_of(chain.file(path)))


def _for_reading(chain: Chain) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """List the records for readers; nothing of one that cannot be read."""
    for path in sorted(chain.listing.files):
        if path.endswith(".json") and kinds.is_for_reading(path) and path != layout.AUDIT_RECORD:
            with suppress(*UNREADABLE):
                if RECORD_DIGEST in (record := read_record(chain.file(path))):
                    yield path, record


def _kind_of(path: str) -> str:
    """Return the pattern of a path, or the path itself."""
    return next((pattern for pattern in PATTERNS if pattern.names_in(path) is not None), path)


def _compared_with(chain: Chain, path: str, keys: tuple[Any, ...]) -> str:
    """Return what a fact, or one that it is a part of, was compared with; empty for nothing."""
    whole = ("/".join(map(str, keys[:length])) for length in range(len(keys), 0, -1))
    return next((chain.compared[path, key] for key in whole if (path, key) in chain.compared), "")


def uncompared(facts: Sequence[Fact]) -> list[str]:
    """Return a line for each kind of records with facts compared with nothing; a star replaces several such keys."""
    lines = []
    for file in dict.fromkeys(fact.file for fact in facts):
        keys = {fact.key: fact.compared < fact.places for fact in facts if fact.file == file}
        counts: dict[str, list[int]] = {}  # by beginning of keys, how many have it, and how many of these were not compared
        for key, is_left in keys.items():
            for beginning in _beginnings(key):
                count = counts.setdefault(beginning, [0, 0])
                count[0], count[1] = count[0] + 1, count[1] + is_left
        alone = {beginning for beginning, (several, left) in counts.items() if several == left > 1}
        names = (
            next((f"{each}*" for each in _beginnings(key) if each in alone), key) for key, is_left in keys.items() if is_left
        )
        if left_out := dict.fromkeys(names):
            lines.append(f"{file}: {', '.join(left_out)}")
    return lines


def _beginnings(key: str) -> Iterator[str]:
    """List what a key begins with, up to each slash, the shortest first."""
    return (key[: place + 1] for place, letter in enumerate(key) if letter == "/")


def explanation(facts: Sequence[Fact], asked: str) -> list[str]:
    """Say what each fact with a key that ends in ``asked`` was compared with; raise DataError if nothing states it."""
    named = [fact for fact in facts if f"/{fact.key}".endswith(f"/{asked}")]
    if not named:
        raise DataError(
            f"fact: no record or table of these results states {asked!r}{nearest(asked, {fact.key for fact in facts})}"
        )
    return [f"{fact.key} in {fact.file}: {_words(fact)}" for fact in named]


def _words(fact: Fact) -> str:
    if not fact.compared:
        return "stated only here; compared with nothing"
    return f"compared at {fact.compared} of {fact.places} places, one of them with {fact.by}"
