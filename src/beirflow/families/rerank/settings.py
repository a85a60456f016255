"""The settings of a reranker."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from beirflow.models.settings import ModelSettings
from beirflow.run.by_name import by_name

Below = Literal["drop", "keep"]


class EncoderKind(NamedTuple):
    """Classes of systems that encode queries and documents apart: their settings, and the scorer of pairs, as ``module:class``.

    They are imported by name, so that an edit changes the digests of the rerankers that use such a system, and of no other.
    """

    settings: str
    pairs: str


ENCODERS = {
    "dense": EncoderKind(
        "beirflow.families.dense.settings:DenseSettings", "beirflow.families.rerank.scorers.dense_pairs:DensePairs"
    ),
    "late": EncoderKind(
        "beirflow.families.late_interaction.settings:LateSettings", "beirflow.families.rerank.scorers.late_pairs:LatePairs"
    ),
}
"""Classes by the key of :class:`RerankSettings` that holds the settings of such a system."""


@dataclass(frozen=True)
class RerankSettings(ModelSettings):
    """A model that scores pairs of a query and a document, and which documents it scores.

    The model reads both texts together; or it is that of a system which encodes them apart, and then has a copy of its settings.
    """

    # name of the system whose run is ranked again; unless stated, the candidates that datasets state
    first: str = field(kw_only=True, default="candidates")
    depth: int = 100  # documents of each query that are scored
    below: Below = "drop"  # whether the documents below the depth are dropped, or keep their order behind the others
    kind: str | None = None  # ``monot5`` or ``qwen3-reranker``, of models whose files do not state it; None for all others
    max_length: int | None = None  # tokens after which a pair is cut, special tokens and prompt included; the model's if None
    # purpose of queries, where the prompt of the model has a place for it; that of its card if None
    instruction: str | None = None
    instructions: Mapping[str, str] = field(default_factory=dict, hash=False)  # the same by dataset, which wins

    dense: Any = field(default=None, hash=False)  # the dense system whose scores pairs have; None for another model
    late: Any = field(default=None, hash=False)  # the system of late interaction, likewise

    def __post_init__(self) -> None:
        """Rebuild settings from the parameters of a rule or a manifest."""
        for key, kind in ENCODERS.items():
            given = getattr(self, key)
            if isinstance(given, Mapping):
                # What has no value has none by default, and one of an extension may not be known here.
                values = {name: value for name, value in given.items() if value is not None}
                object.__setattr__(self, key, by_name(kind.settings)(**values))

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
        return next((kind.pairs for key, kind in ENCODERS.items() if getattr(self, key)), None)

    @property
    def said(self) -> list[str] | None:
        """Names of the settings of an encoder that the configuration states; None where the model has no card."""
        return self.dense.said if self.dense else None

    def for_dataset(self, dataset: str, corpus: str = "") -> "RerankSettings":
        """Return the settings with the instruction, prompt and lengths of a dataset; ``corpus`` is its forum, if it has some."""
        return replace(
            self,
            instruction=self.instructions.get(dataset, self.instruction),
            instructions={},
            dense=replace(self.dense.for_dataset(dataset, corpus), instructions={}, tasks={}) if self.dense else None,
            late=self.late.for_dataset(dataset) if self.late else None,
        )
