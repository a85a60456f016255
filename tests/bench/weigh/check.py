"""Compare weights: those in float32 with the peer's, one by one; those in another precision as wholes.

python -m bench.weigh.check FLOAT32 [AUTO] PEER
"""

import sys
from pathlib import Path

import numpy as np

from bench.child import report

TOLERANCE, OF_AUTO = 1e-5, 0.05
TERMS = 30_522


def read(folder: Path) -> np.ndarray:
    """float32 of shape (texts, terms)."""
    with np.load(folder / "weights.npz") as found:
        weights = np.zeros((int(found["texts"]), TERMS), np.float32)
        weights[found["text"], found["term"]] = found["weight"]
    return weights


def main(float32: Path, *others: Path) -> None:
    """Compare, and say what was compared."""
    *auto, peer = others
    expected, found = read(peer), read(float32)
    difference = np.abs(found - expected).max()
    if not difference <= TOLERANCE:
        sys.exit(f"a weight differs from that of the peer by {difference:.2g}")
    for folder in auto:
        apart = np.linalg.norm(read(folder) - expected) / np.linalg.norm(expected)
        if not apart <= OF_AUTO:
            sys.exit(f"the weights of auto differ by {apart:.2g} of their length")
    report(agree=f"{len(expected)} documents, {np.count_nonzero(expected):,} weights within {difference:.1g}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
