"""Compare scores: those in float32 with the peer's, one by one; those in another precision by their spread.

python -m bench.score_pairs.check FLOAT32 [AUTO] PEER
"""

import sys
from pathlib import Path

import numpy as np

from bench.child import report

TOLERANCE = 1e-5
"""Of the largest score."""

OF_AUTO = 0.1
"""Of the standard deviation of the scores, in the mean."""


def main(float32: Path, *others: Path) -> None:
    """Compare, and say what was compared."""
    *auto, peer = (np.load(folder / "scores.npy") for folder in others)
    difference = np.abs(np.load(float32 / "scores.npy") - peer).max() / np.abs(peer).max()
    if not difference <= TOLERANCE:
        sys.exit(f"a score differs from that of the peer by {difference:.2g} of the largest")
    for scores in auto:
        apart = np.abs(scores - peer).mean() / peer.std()
        if not apart <= OF_AUTO:
            sys.exit(f"the scores of auto differ by {apart:.2g} of their standard deviation")
    report(agree=f"{len(peer):,} pairs, scores within {difference:.1g} of the largest")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
