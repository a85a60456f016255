"""Systems that rank documents by their length, whatever is asked: a baseline that knows nothing of relevance."""

from dataclasses import dataclass
from typing import Annotated, Literal

from beirflow.core.keys import HIDDEN
from beirflow.families.family import Family
from beirflow.families.stage import searches


@dataclass(frozen=True)
class LengthSettings:
    """What counts as long, and what comes first."""

    name: Annotated[str, HIDDEN]
    unit: Literal["words", "characters"] = "words"
    """What the length of a document is counted in."""
    first: Literal["longest", "shortest"] = "longest"
    """Which documents come first."""


class LengthFamily(Family):
    """Systems that rank by length."""

    name = "by-length"
    settings = LengthSettings
    stages = (
        searches(
            "search_lengths",
            "beirflow.families.by_length.search:search_lengths",
            reads={},
            params={"unit": lambda task: task.own.unit, "first": lambda task: task.own.first},
        ),
    )

    def learns(self, settings: LengthSettings) -> bool:
        """Return that nothing was trained."""
        return False


FAMILY = LengthFamily()
