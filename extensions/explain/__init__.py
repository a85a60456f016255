"""Why a result differs from published scores: ``explain``."""

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Command, Extension
from beirflow.core.keys import OrNull, Text
from beirflow.core.patterns import Derived

EXPLANATION = Derived("explanations/{system}/{dataset}.html", "why a result differs from a published score")


@dataclass(frozen=True)
class ExplainOptions:
    """Options of the explanation of results."""

    result: OrNull[Text] = None
    """The result that is explained, as system/dataset; each that has a published score unless given."""


def _check(experiment: Any, problems: Any) -> None:
    from beirflow.extensions.explain.published import check_result

    check_result(experiment, problems)


def _check_planned(experiment: Any, rules: Set[str]) -> None:
    from beirflow.extensions.explain.published import check_planned

    check_planned(experiment, rules)


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=(EXPLANATION,),
    commands={
        "explain": Command(
            f"{__name__}.command",
            "why results differ from published scores",
            options=ExplainOptions,
            makes_results=True,
        )
    },
    check=_check,
    planned=_check_planned,
)
