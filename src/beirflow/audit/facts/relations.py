"""Relations of facts: the ways in which a fact of a record follows from others, of which the table of facts is built.

A relation takes a place, a key and what was found there, and yields what should be there; nothing where nothing says it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import RecordError
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.stated import StatedSystem, stated_system
from beirflow.core.layout import MANIFEST
from beirflow.core.patterns import Pattern
from beirflow.core.records import together, totals

SKIPPED = object()  # what a fact should be where nothing says it


class Expected(NamedTuple):
    """Value that a fact should have."""

    found: Any  # the fact, or the part of it that is compared
    value: Any  # what it should be
    by: str  # what says so
    others: Sequence[tuple[str, str, Any]] = ()  # path, key and value of each fact that is compared with it on the other side


@dataclass(frozen=True)
class Place:
    """A record whose facts are compared."""

    facts: Comparison
    path: str
    names: Mapping[str, Any]  # in its path
    record: Mapping[str, Any]

    @property
    def chain(self) -> Chain:
        """Return all records."""
        return self.facts.chain

    @property
    def system(self) -> str:
        """Name of the system that it is of; empty if several share it."""
        return str(self.names.get("system") or self.record.get("system") or "")

    @property
    def dataset(self) -> str:
        """Name of the corpus."""
        return str(self.names["dataset"])

    @property
    def stated(self) -> Mapping[str, Any]:
        """The settings of the system, as the manifest states them; empty for a system that is not there."""
        settings: Mapping[str, Any] = self.chain.manifest["systems"].get(self.system, {}).get("settings", {})
        return settings

    @property
    def owner(self) -> StatedSystem | None:
        """The system with its family; None if that is unknown."""
        return stated_system(self.chain, self.system)

    @property
    def settings(self) -> Any:
        """The settings of the system, whose family must be known, as they are for the corpus."""
        if (system := stated_system(self.chain, self.system, self.dataset)) is None:
            raise RecordError(f"is of {self.system}, whose family is not known here")
        return system.settings

    @property
    def first_stages(self) -> list[str]:
        """The systems whose runs it is made from, in the order of its settings; none if its family is unknown."""
        return self.owner.first_stages if self.owner else []

    def named(self, *patterns: Pattern, key: str = "inputs") -> list[str]:
        """List the inputs, or outputs, of some kinds."""
        return [name for name in part(self.record, key, kind=dict) if any(each.names_in(name) for each in patterns)]

    def of(self, *patterns: Pattern) -> list[Mapping[str, Any]]:
        """Read the records of some kinds among the inputs."""
        return [self.chain.record(name) for name in self.named(*patterns)]

    def beside(self, pattern: Pattern) -> Mapping[str, Any]:
        """Read another record with the same names in its path."""
        return self.chain.record(pattern(**self.names))


Relation = Callable[[Place, str, Any], Iterator[Expected]]
Records = Callable[[Place], Sequence[Mapping[str, Any]]]

NEEDED, IF_THERE, AS_NONE = "needed", "if there", "as none"
"""A record without the fact is wrong; has nothing to compare; or is compared as if it stated nothing."""


class Row(NamedTuple):
    """A fact of the records of one kind."""

    key: str  # its key, or two keys joined with a slash
    follows: Relation  # from what
    absent: str = NEEDED  # what a record without it is
    what: str = ""  # in words, what of the fact is compared; empty for its value


def compare(place: Place, rows: Iterable[Row]) -> None:
    """Compare the facts of a record with what they follow from; raise RecordError for one that is needed and not there."""
    for key, follows, absent, what in rows:
        keys = key.split("/", 1)
        there = keys[0] in place.record and (len(keys) == 1 or keys[1] in (place.record[keys[0]] or ()))
        if not there and absent == IF_THERE:
            continue
        found = part(place.record, *keys) if there or absent == NEEDED else None
        for expected in follows(place, key, found):
            # What is only partly compared is not noted as compared.
            words, own = (f"{what} {key}", None) if what else (key.replace("/", " / "), key)
            place.facts.same(place.path, words, expected.found, expected.value, expected.by, own)
            for path, other, value in expected.others:
                place.chain.note(path, other, value, place.path)


def computed(
    value: Callable[[Place], Any], by: str = MANIFEST, said: Callable[[Place, Any], Any] = lambda place, found: found
) -> Relation:
    """Expect what a function computes, which may return :data:`SKIPPED`; ``said`` is what of the fact is compared."""

    def follows(place: Place, key: str, found: Any) -> Iterator[Expected]:
        if (expected := value(place)) is not SKIPPED:
            yield Expected(said(place, found), expected, by)

    return follows


def in_path(name: str) -> Relation:
    """Expect a name in the path of the record."""
    return computed(lambda place: place.names.get(name, SKIPPED), "its path")


def setting(name: str, default: Any = None) -> Relation:
    """Expect a setting of the system."""
    return computed(lambda place: (place.stated.get(name) or default) if place.stated else SKIPPED)


def equal(pattern: Pattern, name: str = "") -> Relation:
    """Expect a fact of another record, of the same names; by the same key if ``name`` is empty."""

    def follows(place: Place, key: str, found: Any) -> Iterator[Expected]:
        path, other = pattern(**place.names), name or key
        value = part(place.chain.record(path), *other.split("/"))
        yield Expected(found, value, path, [(path, other, value)])

    return follows


def total(of: Records, own: Callable[[Place, str], bool] = lambda place, name: False) -> Relation:
    """Expect the sum of what some records say by the same key, but for what a record counts ``own``, by name."""
    return _joined(of, totals, own)


def merged(of: Records) -> Relation:
    """Expect, merged, what some records say by the key: by name the value where all agree, else all; a record may say more."""
    return _joined(of, lambda records, key: together([each[key] for each in records if key in each]), lambda place, name: True)


def _joined(
    of: Records, join: Callable[[Sequence[Mapping[str, Any]], str], dict[str, Any]], own: Callable[[Place, str], bool]
) -> Relation:
    """Expect what ``join`` makes of the values of some records by the same key, but for what a record says of its ``own``."""

    def follows(place: Place, key: str, found: Mapping[str, Any]) -> Iterator[Expected]:
        if records := of(place):
            value = join(records, key)
            said = {name: each for name, each in found.items() if name in value or not own(place, name)}
            yield Expected(said, value, _by(records), _both_sides(records, key, value))

    return follows


def _by(records: Sequence[Mapping[str, Any]]) -> str:
    return str(records[0]["path"]) if len(records) == 1 else f"the {len(records)} records that it was made from"


def _both_sides(records: Iterable[Mapping[str, Any]], key: str, value: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    return [(str(each["path"]), key, {name: one for name, one in each.get(key, {}).items() if name in value}) for each in records]
