"""The key ``gate`` of the configuration."""

from dataclasses import dataclass
from typing import Any, Literal

from beirflow.core.keys import LEFT_OUT, AnyDigest, Measure, Share, Text, matching

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
