"""The settings of a reranker."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from beirflow.models.settings import ModelSettings

Below = Literal["drop", "keep"]


@dataclass(frozen=True)
class RerankSettings(ModelSettings):
    """A model that reads a query and a document together, and which documents it reads.

    Attributes:
        first: Name of the system whose run is ranked again.
        depth: Documents of each query that are scored.
        below: Whether the documents below the depth are dropped, or keep their order behind the others.
        max_length: Tokens after which a pair is cut, special tokens and prompt included; what the model says if None.
        instruction: What queries are for, where the prompt of the model has a place for it; what its card says if None.
        instructions: The same by dataset, which goes before it.
    """

    first: str = field(kw_only=True)
    depth: int = 100
    below: Below = "drop"
    max_length: int | None = None
    instruction: str | None = None
    instructions: Mapping[str, str] = field(default_factory=dict, hash=False)

    def for_dataset(self, dataset: str) -> "RerankSettings":
        """The same with the instruction as it is for one dataset, whichever of its forums it is."""
        return replace(self, instruction=self.instructions.get(dataset, self.instruction), instructions={})
