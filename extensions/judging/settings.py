"""The settings of a judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Interval, MinLen

from beirflow.core.keys import LARGEST, As, NotNegative, OrNull, Text


@dataclass(frozen=True)
class JudgeSettings:
    """A model behind OpenAI's chat protocol that judges pools."""

    url: Text
    """Base address of the server, usually ending in /v1."""
    model: Text
    """Name of the model on the server."""
    key_variable: OrNull[Text] = None
    """Environment variable that holds the key."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    """Further keys of every request."""
    sample: Annotated[int, Interval(ge=2, le=LARGEST)] = 200
    """Pairs that people judged and that it judges first."""
    family: Annotated[Sequence[str] | None, As(Annotated[list[Annotated[str, MinLen(2)]], MinLen(1)])] = None
    """Words in the names of related models, none of which may be ranked; without them, those in its name."""
    requests_at_once: Annotated[int, Interval(ge=1, le=64)] = 4
    """Concurrent requests."""
    prompt_price: NotNegative | None = None
    """Price of a million tokens of prompts."""
    completion_price: NotNegative | None = None
    """Price of a million tokens of answers."""
