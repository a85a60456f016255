"""GenQ of the BEIR paper: dense encoders that are trained for each dataset, on queries generated for its documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Addition, Extension, Form, Unrepeated
from beirflow.core.layout import MODEL_OF_DATASET_RECORD
from beirflow.core.patterns import patterns_in
from beirflow.extensions.genq import layout


def _settings() -> type[Any]:
    from beirflow.extensions.genq.settings import Training

    return Training


def _about() -> type[Any]:
    from beirflow.extensions.genq.form import TrainingForm

    return TrainingForm


def _unrepeated(records: Mapping[str, Any]) -> str:
    return f"{len(records)} trainings of models were not repeated, e.g. that of {next(iter(records))}"


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    unrepeated={MODEL_OF_DATASET_RECORD: Unrepeated("models are what their training gives", _unrepeated)},
    forms={"train": Form(_settings, _about)},
    additions=dict.fromkeys(("describe_systems", "explain_result"), Addition("beirflow.extensions.genq.losses:losses")),
)
