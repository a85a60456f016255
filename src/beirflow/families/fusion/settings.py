"""The settings of a fused system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Interval, MinLen

from beirflow.core.keys import HIDDEN, UNIQUE, As, Count, Expected, Keys, Name, UpToMillion

Method = Literal["rrf", "sum"]
Normalization = Literal["none", "min-max", "z-score"]
Weight = Annotated[float, Interval(ge=-1_000_000, le=1_000_000)]

STEP = 0.1  # default difference of two neighbouring weights that are tried
STEPS = (0.5, 0.25, 0.2, 0.1, 0.05, 0.02, 0.01)  # that can be chosen
TUNED = "tuned"  # key of the record of a run whose weights were tuned


@dataclass(frozen=True)
class Tune:
    """Weights from 0 that add up to 1 and have the best main measure on the queries of another split or dataset."""

    split: Name | None = None
    """Another split of each dataset, such as dev."""
    dataset: Name | None = None
    """In its place, one dataset for all, without forums, or a forum."""
    step: Annotated[float, Expected(STEPS.__contains__, choices=STEPS)] = STEP
    """From one weight to the next that is tried."""

    kinds: ClassVar = {"dataset": Keys(("dataset",), without=("split",)), "split": Keys(("split",))}


@dataclass(frozen=True)
class Tuned:
    """Weights that are found."""

    tune: Tune
    """How they are found."""


@dataclass(frozen=True)
class FusionSettings:
    """The runs of other systems, combined by rank or score."""

    name: Annotated[str, HIDDEN]
    of: Annotated[Sequence[str], As(Annotated[list[Name], MinLen(2), UNIQUE])]
    """The systems whose runs are fused, of any family."""
    method: Method = "rrf"
    """rrf, the sum of 1 / (k + rank); or sum, the weighted sum of scores."""
    k: UpToMillion | None = None
    """Of rrf: what is added to ranks; 60 unless stated."""
    normalize: Normalization | None = None
    """Of sum: what is done to the scores of each query first; none unless stated."""
    weights: Annotated[Sequence[float] | Mapping[str, Any] | None, As(list[Weight] | Tuned)] = None
    """Of sum: a number for each system of `of`, all 1 unless stated; or `tune`, how they are found."""
    depth: Count | None = None
    """Documents of each run that are fused, at most top_k; all unless stated."""

    without: ClassVar = ("trained_on",)

    @property
    def tune(self) -> Mapping[str, Any] | None:
        """Queries on which the weights are tuned, and how; None where they are stated."""
        return self.weights["tune"] if isinstance(self.weights, Mapping) else None

    def with_weights_of(self, record: Mapping[str, Any]) -> "FusionSettings":
        """Return the settings with the tuned weights of the record of a run, where they are tuned."""
        return self if self.tune is None else replace(self, weights=record[TUNED]["chosen"])

    @property
    def factors(self) -> Sequence[float]:
        """Factors of the scores of each system: the stated weights, or all 1."""
        return [1.0] * len(self.of) if self.weights is None or isinstance(self.weights, Mapping) else self.weights
