"""The family of fused systems, as the experiment sees it."""

from typing import Any

from beirflow.fusion.settings import FusionSettings
from beirflow.runs.family import Family, Reads, Setting

ONLY_OF = {"k": "rrf", "normalize": "sum", "weights": "sum"}
"""Settings that mean something for one method alone."""


def problem(settings: Any) -> Setting | None:
    """Settings that would be ignored, or weights of other systems."""
    for key, method in ONLY_OF.items():
        value = getattr(settings, key)
        if value is not None and settings.method != method:
            return Setting(key, value, f"method {settings.method} has no {key}; remove it, or choose method: {method}")
    if settings.weights is not None and len(settings.weights) != len(settings.of):
        return Setting("weights", settings.weights, f"one number is needed for each of {', '.join(settings.of)}, in this order")
    return None


def reads(settings: Any) -> Reads:
    """The systems whose runs are fused."""
    return Reads({f"of.{place}": name for place, name in enumerate(settings.of)}, settings.depth)


FAMILY = Family(
    name="fusion",
    settings=FusionSettings,
    problem=problem,
    reads=reads,
    direct=True,
    own_candidates=True,
    spot_checks="beirflow.fusion.spot_check:spot_checks",
    follows="beirflow.fusion.spot_check:spot_checks",
    answers="beirflow.fusion.answers:open_answers",
)
