"""Results of others, verified on a sample: a run, MTEB's predictions, a folder of results, or a claimed score alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Command, Extension
from beirflow.core.keys import LEFT_OUT, OrNull, PositiveShare, Seed, Text
from beirflow.core.patterns import patterns_in
from beirflow.extensions.verify import layout

CLAIMED = "claimed"  # name of the system whose run is the claimed one

RECOMPUTED = "recomputed"  # name of the system that is recomputed, unless it has one


@dataclass(frozen=True)
class VerifyOptions:
    """Options of a verification; the command writes them."""

    system: Text = LEFT_OUT
    """Name of the system that is recomputed."""
    claim: Mapping[str, Any] = LEFT_OUT
    """The claim: files with their sha256, value, run and what they say."""
    share: PositiveShare = 0.01
    """Share of the documents that is encoded."""
    margin: PositiveShare = 0.005
    """Error of the mean that must be found with 99 % for the verdict "consistent"."""
    seed: OrNull[Seed] = None
    """Seed of the sample; drawn and recorded if null, so that it cannot be known beforehand."""


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    commands={
        "verify": Command(f"{__name__}.commands.verify", "verification of a result of others", options=VerifyOptions),
    },
)
