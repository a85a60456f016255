"""The parameters of the rule that trains."""

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from beirflow.config.experiment import Experiment
from beirflow.extensions.genq.settings import Training
from beirflow.models.settings import EncoderSettings


def trained_systems(experiment: Experiment) -> list[str]:
    """Return the names of all known systems whose encoders are trained, without variants of them."""
    return [name for name, form in experiment.forms.items() if isinstance(form.settings, Training)]


def training_of(experiment: Experiment, system: str, dataset: str) -> dict[str, Any]:
    """Return the settings that determine the encoder that is trained for a corpus.

    ``encoder`` is the encoder that it begins as; ``train`` has fields of :class:`Training`. The digest of the weights is in the
    record of the encoder.
    """
    settings = asdict(experiment.settings_for(system, dataset))
    encoder = {each.name: settings[each.name] for each in fields(EncoderSettings) if each.name != "weights_sha256"}
    return {"encoder": encoder, **{key: settings[key] for key in ("similarity", "train")}}


def part_of_training(experiment: Experiment, key: str) -> Callable[[str, str], Any]:
    """Return a function of system and dataset that returns one of these settings."""
    return lambda system, dataset: training_of(experiment, system, dataset)[key]
