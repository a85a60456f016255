"""Checks of the key ``gate`` of the configuration."""

from collections.abc import Set
from pathlib import Path

from beirflow.config.checks import check_measure
from beirflow.config.experiment import Experiment
from beirflow.config.source_checks import disk_in_words
from beirflow.core.errors import ConfigError
from beirflow.core.layout import MANIFEST
from beirflow.data.catalogue.schema import Problems, nearest


def check_gate_settings(experiment: Experiment, problems: Problems) -> None:
    """Check the baseline of the gate, a system or a folder of results, and its measure."""
    gate = experiment.config["gate"]
    baseline = gate.get("baseline")
    if baseline is not None and baseline not in experiment.chosen_systems:
        with disk_in_words(problems, "gate.baseline", baseline):
            if not (Path(baseline).expanduser() / MANIFEST).is_file():
                expected = f"expected a configured system, or a folder of results; there is no {Path(baseline) / MANIFEST}"
                problems.add("gate.baseline", baseline, f"{expected}{nearest(baseline, experiment.chosen_systems)}")
    if measure := gate.get("measure"):
        check_measure(experiment, "gate.measure", measure, problems)


def check_planned_gate(experiment: Experiment, rules: Set[str]) -> None:
    """Check that a gate has a baseline, and a system to compare with it; raise ConfigError before it runs."""
    baseline = experiment.config["gate"].get("baseline")
    if "gate" in rules and baseline is None:
        raise ConfigError(
            "gate has no baseline; name a configured system or a folder of results: gate: {baseline: /main/results}"
        )
    if "gate" in rules and [baseline] == experiment.chosen_systems:
        raise ConfigError(f"gate.baseline is {baseline}, the only configured system; name another in systems as well")
