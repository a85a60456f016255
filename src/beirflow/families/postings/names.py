"""Analyzers by their names: that of English, and those of extensions."""

from collections.abc import Mapping

from beirflow.core.extensions import Analysis, extensions

ENGLISH = "lucene-english"

ELSEWHERE = "those of other languages need an extension that has them (docs/extensions.md)"


def analyses() -> Mapping[str, Analysis]:
    """Return by name the function that makes an analyzer, or the reason why there is none."""
    of_extensions = {name: each for extension in extensions() for name, each in extension.analyzers.items()}
    return {ENGLISH: Analysis("beirflow.families.postings.analyzer:english"), **of_extensions}


def modules_of(name: str) -> tuple[str, ...]:
    """Return the modules that an analyzer is imported from by name; none for that of English, or one that is not here."""
    return () if name == ENGLISH or name not in analyses() else (analyses()[name].make.partition(":")[0],)
