"""The settings of a fused system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Method = Literal["rrf", "sum"]
Normalization = Literal["none", "min-max", "z-score"]

TUNED = "tuned"
"""Key of the record of a run whose weights were tuned."""


@dataclass(frozen=True)
class FusionSettings:
    """Runs and method of a fusion; the schema checks the entries.

    Attributes:
        name: Name of the system.
        of: Names of the systems whose runs are fused.
        method: ``rrf``, the sum of reciprocal ranks; or ``sum``, the weighted sum of scores.
        k: What is added to ranks before they are inverted; of ``rrf``.
        normalize: What is done to the scores of each query before they are added; of ``sum``.
        weights: What the scores of each system are multiplied with; all 1 if None; or under ``tune`` the ``split`` or the
            ``dataset`` on whose queries they are tuned, and the ``step`` of the grid; of ``sum``.
        depth: Documents of each run that are fused; None for all that it has.
    """

    name: str
    of: Sequence[str]
    method: Method = "rrf"
    k: int | None = None
    normalize: Normalization | None = None
    weights: Sequence[float] | Mapping[str, Any] | None = None
    depth: int | None = None

    @property
    def tune(self) -> Mapping[str, Any] | None:
        """On what the weights are tuned, and how; None where they are stated."""
        return self.weights["tune"] if isinstance(self.weights, Mapping) else None

    def with_weights_of(self, record: Mapping[str, Any]) -> "FusionSettings":
        """The same with the weights that the record of a run says were found, where they are tuned."""
        return self if self.tune is None else replace(self, weights=record[TUNED]["chosen"])

    @property
    def factors(self) -> Sequence[float]:
        """Return the stated factors of the scores of each system."""
        return [1.0] * len(self.of) if self.weights is None or isinstance(self.weights, Mapping) else self.weights
