"""The family of lexical systems, as the experiment sees it."""

from typing import Any

from beirflow.lexical.settings import LexicalSettings
from beirflow.runs.family import Family, Setting


def problem(settings: Any) -> Setting | None:
    """Nothing keeps a lexical system from being used: it has no model, and its schema allows no other settings."""
    return None


FAMILY = Family(
    name="lexical",
    settings=LexicalSettings,
    problem=problem,
    spot_checks="beirflow.lexical.spot_check:spot_checks",
)
