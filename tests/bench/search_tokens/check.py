"""Compare the scores of every query, rank by rank.

python -m bench.search_tokens.check OURS PEER
"""

import sys
from pathlib import Path

import numpy as np

from bench.child import report

TOLERANCE = 1e-5
"""Of a score, over the largest: the peer adds in float32."""


def main(ours: Path, peer: Path) -> None:
    """Compare, and say what was compared."""
    with np.load(ours / "hits.npz") as mine, np.load(peer / "hits.npz") as theirs:
        if not np.array_equal(mine["query"], theirs["query"]):
            sys.exit("queries have other numbers of hits")
        difference = np.abs(mine["score"] - theirs["score"]).max() / theirs["score"].max()
        same, hits = float((mine["row"] == theirs["row"]).mean()), len(mine["row"])
    if not difference <= TOLERANCE:
        sys.exit(f"scores differ by {difference:.2g} of the largest")
    report(agree=f"{hits:,} hits, scores within {TOLERANCE:g} of the largest; {same:.3%} in the same place")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
