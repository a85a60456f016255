"""The key ``gate`` of the configuration, and its checks."""

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from beirflow.core.errors import ConfigError
from beirflow.core.keys import LEFT_OUT, AnyDigest, Measure, Share, Text, matching
from beirflow.core.layout import MANIFEST

ReportAddress: Any = matching(
    r"https?://[^\s()<>|#]+", "the address of the published report, such as https://example.org/our-report"
)


@dataclass(frozen=True)
class GateSettings:
    """The baseline that the rule gate compares the configured systems with, and the loss that it allows."""

    baseline: Text = LEFT_OUT
    """A configured system, such as an imported run, or another folder of results."""
    system: Text = LEFT_OUT
    """The system of that folder to compare with; the one of the same name, or the only one, if it is not given."""
    measure: Measure = LEFT_OUT
    """A measure and its cutoff; without it, main_measure."""
    tolerance: Share = 0.01
    """Loss that is allowed, whether or not it is significant."""
    undecided: Literal["pass", "fail"] = "pass"
    """pass if a comparison that shows neither a loss nor that it is within the tolerance does not fail."""
    manifest_sha256: AnyDigest = LEFT_OUT
    """The published sha256 of the manifest.json of that folder."""
    manifest_signature: Text = LEFT_OUT
    """A detached OpenSSH signature of it."""
    allowed_signers: Text = LEFT_OUT
    """The file of accepted signers."""
    report: ReportAddress = LEFT_OUT
    """Address of the published report, such as https://example.org/report.html."""


def check_gate_settings(experiment: Any, problems: Any) -> None:
    """Check the baseline of the gate, a system or a folder of results, and its measure."""
    from beirflow.config.checks import check_measure
    from beirflow.config.source_checks import disk_in_words
    from beirflow.data.catalogue.schema import nearest

    gate = experiment.config["gate"]
    baseline = gate.get("baseline")
    if baseline is not None and baseline not in experiment.chosen_systems:
        with disk_in_words(problems, "gate.baseline", baseline):
            if not (Path(baseline).expanduser() / MANIFEST).is_file():
                expected = f"expected a configured system, or a folder of results; there is no {Path(baseline) / MANIFEST}"
                problems.add("gate.baseline", baseline, f"{expected}{nearest(baseline, experiment.chosen_systems)}")
    if measure := gate.get("measure"):
        check_measure(experiment, "gate.measure", measure, problems)


def check_planned_gate(experiment: Any, rules: Set[str]) -> None:
    """Check that a gate has a baseline, and a system to compare with it; raise ConfigError before it runs."""
    baseline = experiment.config["gate"].get("baseline")
    if "gate" in rules and baseline is None:
        raise ConfigError(
            "gate has no baseline; name a configured system or a folder of results: gate: {baseline: /main/results}"
        )
    if "gate" in rules and [baseline] == experiment.chosen_systems:
        raise ConfigError(f"gate.baseline is {baseline}, the only configured system; name another in systems as well")
