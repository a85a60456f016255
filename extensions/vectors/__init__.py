"""Vectors of texts that somebody computed elsewhere, as a system: checked, and searched as those of a dense one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Extension, Unrepeated
from beirflow.core.patterns import patterns_in
from beirflow.extensions.vectors import layout


def _family() -> Any:
    from beirflow.extensions.vectors.family import FAMILY

    return FAMILY


def _unrepeated(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which vectors nobody can compute again here."""
    from beirflow.report.pages import counted

    path, record = next(iter(records.items()))
    digest = record.get("files", {}).get(layout.DOCUMENT_VECTORS)
    of = f"{counted(len(records), 'dataset')}, e.g. documents with the sha256 {digest} ({path})"
    return f"given vectors come from elsewhere and cannot be computed again: {of}"


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    family=_family,
    unrepeated={layout.GIVEN_VECTORS: Unrepeated("vectors are what their model gives", _unrepeated)},
)
