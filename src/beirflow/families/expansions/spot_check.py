"""The stored part of an expansion, and its check on a sample, which needs the extension that made it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.layout import EXPANSION
from beirflow.families.expansions.files import stored_rows
from beirflow.families.expansions.models import makers, needed
from beirflow.families.expansions.settings import Expansion
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject
from beirflow.run.by_name import by_name

CHECKS = {"queries": "queries written again are the stored ones", "weights": "words weighed again have the stored weights"}
"""Checks of what models add to documents, by its kind."""

Analyze = Callable[[str], Sequence[str]]


def expansion_checks(subject: Subject, sample: int, random: np.random.Generator, analyze: Analyze) -> list[SpotCheck]:
    """Plan the check of what a model adds to the documents of a corpus; none for files or nothing.

    ``analyze`` gives the terms by which a text is matched: inflected words are no others.
    """
    added: Expansion | None = subject.system.settings.added
    if added is None or added.path is not None:
        return []
    if maker := makers().get(added.kind):
        checks: list[SpotCheck] = by_name(maker.spot_checks)(subject, sample, random, analyze)
        return checks
    return [SpotCheck(CHECKS[added.kind], folder_of(subject, added), partial(_not_here, added.kind))]


def stored_expansion(subject: Subject, added: Expansion | None, chunk: int, rows: np.ndarray) -> list[Any]:
    """Read the expansion of some documents of a chunk: of each its queries or pairs of word and weight; empty without one."""
    if added is None:
        return [[] for _ in rows]
    path = subject.file(EXPANSION(expansion=added.name, dataset=subject.dataset, chunk=chunk))
    return stored_rows(path, added.kind, pa.array(rows))


def folder_of(subject: Subject, added: Expansion) -> str:
    """Return the folder of an expansion of a corpus."""
    return EXPANSION.folder(expansion=added.name, dataset=subject.dataset).rstrip("/")


def _not_here(kind: str) -> Finding:
    raise NotHereError(needed(kind))
