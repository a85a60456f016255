"""Compare our means with those of beir, unrounded and as it prints them.

    python -m bench.evaluate.check INPUT OURS PEER CUTOFF...

beir rounds every mean to five decimals. Here its code runs once more with a ``round`` that does nothing, so that its own sums can
be compared to the last digits.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from beir.retrieval import custom_metrics, evaluation

from bench.child import report
from bench.evaluate.peer_beir import evaluate, read

EXACT, ROUNDED = 1e-9, 0.5e-5 + 1e-9
OWN_ONLY = ("F1@", "NDCG_exp@")
"""Measures that beir does not have."""


def unrounded(source: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    """The means of beir as they are before it rounds them."""
    for module in (custom_metrics, evaluation):
        vars(module)["round"] = lambda value, digits: value
    return evaluate(*read(source), cutoffs)


def main(source: Path, ours: Path, peer: Path, cutoffs: Sequence[int]) -> None:
    """Compare, and say what was compared."""
    found = json.loads((ours / "means.json").read_text())
    means = {name: value for name, value in found["means"].items() if not name.startswith(OWN_ONLY)}
    for theirs, tolerance in ((unrounded(source, cutoffs), EXACT), (json.loads((peer / "means.json").read_text()), ROUNDED)):
        if theirs.keys() != means.keys():
            sys.exit(f"different measures: {sorted(theirs.keys() ^ means.keys())}")
        for name, value in means.items():
            if not abs(theirs[name] - value) <= tolerance:
                sys.exit(f"{name}: ours {value!r}, beir {theirs[name]!r}, more than {tolerance:g} apart")
    report(agree=f"{len(means)} means over {found['queries']:,} queries within 1e-9 of beir's before it rounds them")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), [int(k) for k in sys.argv[4:]])
