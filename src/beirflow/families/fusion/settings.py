"""The settings of a fused system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Method = Literal["rrf", "sum"]
Normalization = Literal["none", "min-max", "z-score"]

STEP = 0.1  # default difference of two neighbouring weights that are tried
TUNED = "tuned"  # key of the record of a run whose weights were tuned


@dataclass(frozen=True)
class FusionSettings:
    """Runs and method of a fusion; the schema checks the entries."""

    name: str
    of: Sequence[str]  # systems whose runs are fused
    method: Method = "rrf"  # "rrf", the sum of reciprocal ranks; or "sum", the weighted sum of scores
    k: int | None = None  # of "rrf": added to ranks before they are inverted
    normalize: Normalization | None = None  # of "sum": how the scores of each query are normalised before they are added
    # Of "sum": factors of the scores of each system, all 1 if None; or under "tune" the "split" or the "dataset" on whose queries
    # they are tuned, and the "step" of the grid.
    weights: Sequence[float] | Mapping[str, Any] | None = None
    depth: int | None = None  # documents of each run that are fused; None for all that it has

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
