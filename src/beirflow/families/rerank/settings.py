"""The settings of a reranker."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Interval

from beirflow.core.keys import HIDDEN, As, Count, Instructions, Keys, Name, Text, TorchWeights
from beirflow.models.settings import LIBRARY, OF_LIBRARY, ModelSettings
from beirflow.run.by_name import by_name

Below = Literal["drop", "keep"]


ENCODERS = {
    "dense": ("beirflow.families.dense.settings:DenseSettings", "beirflow.families.rerank.scorers.dense_pairs:DensePairs"),
    "late": ("beirflow.families.late_interaction.settings:LateSettings", "beirflow.families.rerank.scorers.late_pairs:LatePairs"),
}
"""Classes of settings and of scorers, by the key of :class:`RerankSettings` that holds a system which encodes texts apart.

They are imported by name, so that an edit changes the digests of the rerankers that use such a system, and of no other.
"""


@dataclass(frozen=True)
class RerankSettings(ModelSettings):
    """A model that scores pairs of a query and a document, and which documents it scores.

    The model reads both texts together; or it is that of a system which encodes them apart, and then has a copy of its settings.
    """

    weights: TorchWeights = "model.safetensors"
    """File that holds the weights. A pytorch_model.bin is read as tensors only, never as code."""
    first: Name = field(kw_only=True, default="candidates")
    """The system whose run is reranked; unless stated, candidates: those that the dataset states for each query."""
    depth: Count = 100
    """Documents of each query that are scored, at most top_k. A greater one only adds pairs."""
    below: Below = "drop"
    """Whether documents below the depth are dropped, as the beir package does, or keep their order after the others."""
    kind: Literal["monot5", "qwen3-reranker"] | None = None
    """What the model was trained for, where its files do not say it: a T5 that answers true or false, or a Qwen3 that answers yes
    or no."""
    max_length: Annotated[int, Interval(ge=5, le=1_000_000)] | None = None
    """Tokens after which a pair is cut, special tokens and prompt included; what the model says, 512 of monoT5, 8192 of
    Qwen3-Reranker."""
    instruction: Text | None = None
    """What queries are for, where the prompt of the model has a place for it; the words of its model card or folder unless
    stated."""
    instructions: Annotated[Mapping[str, str], As(Instructions)] = field(default_factory=dict, hash=False)
    """By dataset, the same; for its forums too."""

    # the dense system whose scores pairs have; None for another model
    dense: Annotated[Any, HIDDEN] = field(default=None, hash=False)
    late: Annotated[Any, HIDDEN] = field(default=None, hash=False)  # the system of late interaction, likewise

    without: ClassVar = ("query_model", "query_revision")
    kinds: ClassVar = {
        "encoder": Keys(("encoder", "model"), (*OF_LIBRARY, "first", "depth", "below"), types={"encoder": Literal[LIBRARY]}),
        "model": Keys(("model",), without=("encoder", "arguments")),
    }
    family: ClassVar = "rerank"

    def __post_init__(self) -> None:
        """Rebuild settings from the parameters of a rule or a manifest."""
        for key, (kind, _) in ENCODERS.items():
            given = getattr(self, key)
            if isinstance(given, Mapping):
                # What has no value has none by default, and one of an extension may not be known here.
                values = {name: value for name, value in given.items() if value is not None}
                object.__setattr__(self, key, by_name(kind)(**values))

    @property
    def encoder_settings(self) -> Any:
        """The system whose scores pairs have; None for a model that reads both texts together."""
        return self.dense or self.late

    @property
    def separator(self) -> str | None:
        """Text between title and text of the documents that the model reads; None for the stored space."""
        return self.dense.between if self.dense else None

    @property
    def pairs(self) -> str | None:
        """``module:class`` that scores pairs with that system."""
        return next((scorer for key, (_, scorer) in ENCODERS.items() if getattr(self, key)), None)

    @property
    def configured(self) -> list[str] | None:
        """Names of the configured settings of an encoder; None where the model has no card."""
        return self.dense.configured if self.dense else None

    def for_dataset(self, dataset: str, corpus: str = "") -> "RerankSettings":
        """Return the settings with the instruction, prompt and lengths of a dataset; ``corpus`` is its forum, if it has some."""
        return replace(
            self,
            instruction=self.instructions.get(dataset, self.instruction),
            instructions={},
            dense=replace(self.dense.for_dataset(dataset, corpus), instructions={}, tasks={}) if self.dense else None,
            late=self.late.for_dataset(dataset) if self.late else None,
        )
