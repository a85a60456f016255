"""Judging what nobody judged: pools of unjudged documents for people, and a model that judges them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from beirflow.core.extensions import Extension
from beirflow.core.keys import As, Count, OrNull
from beirflow.core.patterns import patterns_in
from beirflow.extensions.judging import layout
from beirflow.extensions.judging.settings import JudgeSettings


def _check(experiment: Any, problems: Any) -> None:
    from beirflow.extensions.judging.relatives import check_judge

    check_judge(experiment, problems)


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    judge: Annotated[dict[str, Any] | None, As(OrNull[JudgeSettings])] = None
    """A model behind OpenAI's chat protocol that judges pools."""
    pool_depth: Count = 10
    """Ranks of each system whose unjudged documents are pooled for judging."""


EXTENSION = Extension(
    keys=Keys,
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    not_rebuilt=(layout.POOL, layout.POOL_RECORD, layout.JUDGED, layout.SAMPLE, layout.RECORD),
    check=_check,
    without_influence=("pool_depth", "judge"),
)
