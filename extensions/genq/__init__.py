"""GenQ of the BEIR paper: dense encoders that are trained for each dataset, on queries generated for its documents."""

from pathlib import Path
from typing import Any

from beirflow.core.extensions import Addition, Extension, Form
from beirflow.core.patterns import patterns_in
from beirflow.extensions.genq import layout


def _settings() -> type[Any]:
    from beirflow.extensions.genq.settings import Training

    return Training


def _about() -> type[Any]:
    from beirflow.extensions.genq.form import TrainingForm

    return TrainingForm


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    forms={"train": Form(_settings, _about)},
    additions=dict.fromkeys(("describe_systems", "explain_result"), Addition("beirflow.extensions.genq.losses:losses")),
)
