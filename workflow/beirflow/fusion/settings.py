"""The settings of a fused system."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["rrf", "sum"]
Normalization = Literal["none", "min-max", "z-score"]


@dataclass(frozen=True)
class FusionSettings:
    """Whose runs are fused, and how. The schema checks what they may be.

    Attributes:
        name: Name of the system.
        of: Names of the systems whose runs are fused.
        method: ``rrf``, the sum of reciprocal ranks; or ``sum``, the weighted sum of scores.
        k: What is added to ranks before they are inverted; of ``rrf``.
        normalize: What is done to the scores of each query before they are added; of ``sum``.
        weights: What the scores of each system are multiplied with; all 1 if None; of ``sum``.
        depth: Documents of each run that are fused; None for all that it has.
    """

    name: str
    of: Sequence[str]
    method: Method = "rrf"
    k: int | None = None
    normalize: Normalization | None = None
    weights: Sequence[float] | None = None
    depth: int | None = None
