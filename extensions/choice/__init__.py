"""The choice of a system: quality, latency, bytes and prices on a page of its own."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from beirflow.core.extensions import Extension, Page
from beirflow.core.keys import LEFT_OUT, As, Positive
from beirflow.core.patterns import patterns_in
from beirflow.extensions.choice import layout


@dataclass(frozen=True)
class Budgets:
    """Budgets within which choice.html names the cheapest system."""

    milliseconds: Positive = LEFT_OUT
    """The median time of a query."""
    gigabytes: Positive = LEFT_OUT
    """The index of all datasets together."""


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    choice: Annotated[dict[str, float], As(Budgets)] = field(default_factory=dict)
    """Budgets within which choice.html names the cheapest system."""


EXTENSION = Extension(
    keys=Keys,
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    targets={"choice": (layout.PAGE, "quality against latency, bytes and prices")},
    pages={layout.RECORD: Page(layout.PAGE, configured=("prices", "choice"))},
    without_influence=("choice",),
)
