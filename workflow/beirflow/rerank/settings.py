"""The settings of a reranker."""

from dataclasses import dataclass, field
from typing import Literal

from beirflow.models.settings import ModelSettings

Below = Literal["drop", "keep"]


@dataclass(frozen=True)
class RerankSettings(ModelSettings):
    """A cross-encoder, and which documents it reads.

    Attributes:
        first: Name of the system whose run is ranked again.
        depth: Documents of each query that are scored.
        below: Whether the documents below the depth are dropped, or keep their order behind the others.
        max_length: Tokens after which a pair is cut, special tokens included; what the model says if None.
    """

    first: str = field(kw_only=True)
    depth: int = 100
    below: Below = "drop"
    max_length: int | None = None
