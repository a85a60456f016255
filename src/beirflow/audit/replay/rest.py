"""Derived files that were not replayed."""

from collections.abc import Collection, Iterator

from beirflow.audit.chain import Chain
from beirflow.audit.checks import NOT_CHECKED, SHOWN, Check
from beirflow.core import kinds, layout
from beirflow.core.errors import some
from beirflow.core.extensions import extensions

READING = "derived files match the results"  # name of the checks of derived files


def check_rest(chain: Chain, compared: Collection[str]) -> Iterator[Check]:
    """Report the derived files that were not compared, or only with the record of their page."""
    # A rebuilt inventory has the digests of its copies.
    named = tuple(f"{inventory.copies}/" for inventory in kinds.INVENTORIES if inventory.path in compared)
    own = (layout.AUDIT, layout.AUDIT_RECORD, *chain.earlier, *compared)
    for pattern, part in (each for extension in extensions() for each in extension.unrepeated.items()):
        if records := {path: chain.records.get(path) or {} for path in sorted(chain.claims) if pattern.names_in(path)}:
            yield Check(part.name, NOT_CHECKED, part.found(records), "", tuple(records))
    paths = [path for path in sorted(chain.listing.files) if kinds.is_derived(path) and path not in own]
    others = [path for path in paths if path not in chain.claims and not path.startswith(named)]
    if others:
        found = f"{len(others)} files, on which no number depends, were not compared: {some(others, 3)}"
        yield Check(READING, NOT_CHECKED, found, "", tuple(others[:SHOWN]), (), chain.aside(others))
    if drawn := [path for path in paths if path in chain.claims]:
        found = f"{len(drawn)} files, including figures, were compared with the records of their pages, not rebuilt"
        yield Check(READING, NOT_CHECKED, found, "", tuple(drawn[:SHOWN]))
