"""Judging what nobody judged: pools of unjudged documents for people, and a model that judges them."""

from pathlib import Path
from typing import Any

from beirflow.core.extensions import Extension
from beirflow.core.patterns import patterns_in
from beirflow.extensions.judging import layout


def _check(experiment: Any, problems: Any) -> None:
    from beirflow.extensions.judging.relatives import check_judge

    check_judge(experiment, problems)


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    files={
        layout.POOL: "unjudged documents in the first ranks of all systems",
        layout.PAGE: "the same judged by a model",
    },
    not_rebuilt=(layout.POOL, layout.POOL_RECORD, layout.JUDGED, layout.SAMPLE, layout.RECORD),
    check=_check,
    without_influence=("pool_depth", "judge"),
)
