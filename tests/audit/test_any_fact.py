"""Whoever changes any fact of any record, and makes every digest above it again, is found out; or the fact is listed."""

import os
import random
import shutil
from collections.abc import Callable, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from beirflow.audit.audit import run_checks
from beirflow.audit.checks import NOT_CHECKED
from beirflow.audit.fact_table import leaves
from beirflow.core.errors import DataError
from beirflow.core.patterns import Pattern
from forger import Forger, put
from results_maker import Made

FACTS = 16
"""Facts that are changed."""

SEED = int(os.environ.get("BEIRFLOW_FACT_SEED", "1"))
"""Of the facts that are drawn; `pytest -m long` changes one of each kind."""

PARTS = 8
"""Tests that share the kinds."""

Fact: TypeAlias = tuple[str, tuple[Any, ...]]
"""A record, and the keys that lead to a value in it."""

DIGESTS = ("inputs", "outputs", "code")
"""Of files, which the forger makes again; what they lead to is tested by ``test_audit.py``. Those of code are compared only in a
checkout without changes (``test_records.py``), and :meth:`Forger.noticed` leaves that check out.
"""


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 2 + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return {} if isinstance(value, list) else "something"


def every_fact(forger: Forger) -> list[Fact]:
    """All facts of all records, by file and keys."""
    names = sorted(path.relative_to(forger.results).as_posix() for path in forger.results.rglob("*.json"))
    return [(name, keys) for name in names for keys in leaves(forger.read(name)) if keys[0] not in DIGESTS]


def forge(forger: Forger, name: str, keys: tuple[Any, ...]) -> None:
    """Change one fact, and make everything above it again."""
    forger.edit(name, put(*keys, value=changed(reduce(getitem, keys, forger.read(name)))))
    try:
        forger.digest_summary_again()
    except (DataError, KeyError, TypeError, ValueError):  # of metrics that no summary can be made of
        forger.digest_again()


def listed(original: Made, folder: Path) -> Callable[[Fact], bool]:
    """Test whether the audit says of a fact that nothing was compared with it."""
    forger = Forger.of(original, folder)
    _, sections, facts = run_checks(forger.results, forger.experiment, 3, 1)
    not_read = {path for checks in sections.values() for check in checks if check.status == NOT_CHECKED for path in check.files}
    left = {(fact.file, fact.key) for fact in facts if fact.compared < fact.places}

    def is_listed(fact: Fact) -> bool:
        name, keys = fact
        key = "/".join(key for key in keys if isinstance(key, str))
        return name in not_read or any(key == other and Pattern(file).names_in(name) is not None for file, other in left)

    return is_listed


def noticed_together(original: Made, folder: Path, facts: Sequence[Fact]) -> set[Fact]:
    """Facts whose forged values an audit of all of them shows, by the name of their record; those of one record hide others."""
    forger, values = Forger.of(original, folder), dict[Fact, str]()
    for name, keys in facts:
        forge(forger, name, keys)
        values[name, keys] = str(reduce(getitem, keys, forger.read(name)))
    texts = [f"{check.found}; {check.expected}" for check in forger.noticed()]
    return {fact for fact, value in values.items() if len(value) > 3 and any(fact[0] in text and value in text for text in texts)}


def missed(original: Made, folder: Path, facts: Sequence[Fact]) -> list[Fact]:
    """Facts that can be changed without being noticed, and are not listed either."""
    is_listed = listed(original, folder / "untouched")
    left = [fact for fact in facts if not is_listed(fact)]
    together = noticed_together(original, folder / "together", left)
    found = []
    for number, (name, keys) in enumerate(fact for fact in left if fact not in together):
        forger = Forger.of(original, folder / str(number))
        forge(forger, name, keys)
        if not forger.noticed():
            found.append((name, keys))
        shutil.rmtree(folder / str(number))
    return found


def kind_of(fact: Fact) -> tuple[str, ...]:
    """Name the folder of the record, and the keys without places in lists: facts of the same meaning share them."""
    name, keys = fact
    return name.partition("/")[0], *(key for key in keys if isinstance(key, str))


def test_any_fact_that_is_changed_is_noticed_or_listed(original: Made, tmp_path: Path) -> None:
    facts = every_fact(Forger.of(original, tmp_path / "all"))
    assert missed(original, tmp_path, random.Random(SEED).sample(facts, FACTS)) == [], SEED


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_one_fact_of_each_kind_that_is_changed_is_noticed_or_listed(original: Made, tmp_path: Path, part: int) -> None:
    kinds = {kind_of(fact): fact for fact in every_fact(Forger.of(original, tmp_path / "all"))}
    assert missed(original, tmp_path, list(kinds.values())[part::PARTS]) == []
