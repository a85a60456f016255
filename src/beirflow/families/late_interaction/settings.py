"""The settings of a late-interaction system."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from annotated_types import Interval

from beirflow.core.keys import Keys, Tokens, TorchWeights
from beirflow.models.settings import LIBRARY, OF_LIBRARY, ModelSettings


@dataclass(frozen=True)
class LateSettings(ModelSettings):
    """A model that gives one vector a token. What is None is as the files of the model say."""

    weights: TorchWeights = "model.safetensors"
    """File that holds the weights. A pytorch_model.bin is read as tensors only, never as code."""
    query_length: Tokens | None = None
    """Tokens of a query, special tokens and marker included. A longer one is cut, and a shorter one padded if the model does
    so."""
    query_lengths: Mapping[str, Tokens] = field(default_factory=dict, hash=False)
    """By dataset, the same; for its forums too."""
    document_length: Tokens | None = None
    """Tokens after which a document is cut, special tokens and marker included."""
    pool_factor: Annotated[int, Interval(ge=2, le=16)] | None = None
    """How many vectors of similar tokens of a document are averaged to one (token pooling). This changes scores."""

    without: ClassVar = ("query_model", "query_revision")
    kinds: ClassVar = {
        "encoder": Keys(("encoder", "model"), OF_LIBRARY, types={"encoder": Literal[LIBRARY]}),
        "model": Keys(("model",), without=("encoder", "arguments")),
    }
    family: ClassVar = "late-interaction"

    def for_dataset(self, dataset: str, _corpus: str = "") -> "LateSettings":
        """Return the settings with the length of queries of one dataset, the same for all its forums."""
        return replace(self, query_length=self.query_lengths.get(dataset, self.query_length), query_lengths={})
