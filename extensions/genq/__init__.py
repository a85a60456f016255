"""GenQ of the BEIR paper: dense encoders that are trained for each dataset, on queries generated for its documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Addition, Extension, Form
from beirflow.core.patterns import Pattern, patterns_in
from beirflow.extensions.genq import layout


def _settings() -> type[Any]:
    from beirflow.extensions.genq.settings import Training

    return Training


def _about() -> type[Any]:
    from beirflow.extensions.genq.form import TrainingForm

    return TrainingForm


def _recorded() -> Mapping[Pattern, Any]:
    from beirflow.extensions.genq.audit import RECORDED

    return RECORDED


def _outside() -> tuple[Any, ...]:
    from beirflow.extensions.genq.audit import OUTSIDE

    return OUTSIDE


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    forms={"train": Form(_settings, _about)},
    recorded=_recorded,
    outside=_outside,
    additions=dict.fromkeys(("describe_systems", "explain_result"), Addition("beirflow.extensions.genq.losses:losses")),
)
