"""The label of a classifier that means relevant."""

import re
from collections.abc import Mapping
from typing import Any

from beirflow.files.errors import ModelError

OPPOSITES = {
    "relevant": "irrelevant",
    "entailment": "contradiction",
    "true": "false",
    "yes": "no",
    "positive": "negative",
    "related": "unrelated",
    "1": "0",
}
"""Names of labels that mean relevant, each with the name of its opposite."""

UNNAMED = ("label_0", "label_1")
"""Names that transformers gives to two labels without names."""


def relevant_label(id2label: Mapping[int, Any], label2id: Mapping[Any, Any] | None = None) -> int | None:
    """Return the number of the label that means relevant, out of two.

    Args:
        id2label: Names by number, as in ``config.json``.
        label2id: Numbers by name, as there; None where it has none.

    Returns:
        0 or 1; None where the labels have no names, which leaves the usual second one.

    Raises:
        ModelError: The names do not say it, or contradict each other.
    """
    by_name = {number: name for name, number in (label2id or {}).items()}
    labels = {_relevant(names) for names in (id2label, by_name) if names.keys() >= {0, 1}} - {None}
    if len(labels) > 1:
        raise ModelError(
            f"in its config.json id2label is {dict(id2label)} and label2id {dict(label2id or {})}; correct one of them"
        )
    return next(iter(labels), None)


def _relevant(names: Mapping[int, Any]) -> int | None:
    """Number of the label that means relevant by its name; None without names."""
    first, second = (re.sub(r"[\s_-]+", "_", str(names[number]).strip().lower()) for number in (0, 1))
    if (first, second) == UNNAMED:
        return None
    relevant = [number for number, pair in enumerate(((first, second), (second, first))) if _are_opposites(*pair)]
    if len(relevant) != 1:
        raise ModelError(
            f"its two labels are {names[0]!r} and {names[1]!r}, which do not say which of them means relevant. In a copy of the"
            ' folder say so in config.json: "id2label": {"0": "irrelevant", "1": "relevant"}, or the other way round'
        )
    return relevant[0]


def _are_opposites(name: str, other: str) -> bool:
    """Tell whether a name means relevant, and the other its opposite."""
    return name in OPPOSITES and other in (OPPOSITES[name], *(f"{no}{name}" for no in ("not_", "non_", "non", "no_")))
