"""Settings of a lexical system."""

from dataclasses import dataclass
from math import isfinite

from beirflow.errors import ConfigError
from beirflow.lexical.analyzer import ANALYZER

FIELD_SETS = (("contents",), ("title", "text"), ("text",), ("title",))
"""``contents`` is title and text as one field. Fields of a set are scored apart, each with its own statistics, and added."""


@dataclass(frozen=True)
class LexicalSettings:
    """What decides over the scores of a lexical system.

    Attributes:
        name: Name of the system.
        k1: How late the weight of a repeated term saturates; 0 makes the number of repetitions irrelevant.
        b: How much long documents are held back, from 0, not at all, to 1.
        fields: One of :data:`FIELD_SETS`.
        analyzer: What turns texts into terms; ``lucene-english`` is the only one.

    Raises:
        ConfigError: A value is not one of these.
    """

    name: str
    k1: float = 0.9
    b: float = 0.4
    fields: tuple[str, ...] = ("contents",)
    analyzer: str = ANALYZER

    def __post_init__(self) -> None:
        for key, value, allowed, is_allowed in (
            ("k1", self.k1, "a number from 0", isfinite(self.k1) and self.k1 >= 0),
            ("b", self.b, "a number from 0 to 1", 0 <= self.b <= 1),
            ("fields", list(self.fields), " or ".join(str(list(names)) for names in FIELD_SETS), self.fields in FIELD_SETS),
            ("analyzer", self.analyzer, ANALYZER, self.analyzer == ANALYZER),
        ):
            if not is_allowed:
                raise ConfigError(f"system {self.name}: {key} is {value!r}, expected {allowed}")
