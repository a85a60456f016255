"""Compare NDCG@10.

    python -m bench.evaluation.check PEER TOLERANCE METRICS [TOLERANCE METRICS]...

METRICS is the JSON file that our workflow writes.
"""

import json
import sys
from pathlib import Path

from bench.child import report

MEASURE = "NDCG@10"


def main(peer: Path, ours: list[tuple[float, Path]]) -> None:
    """Compare, and say what was compared."""
    theirs = json.loads((peer / "means.json").read_text())[MEASURE]
    words = []
    for tolerance, path in ours:
        found = json.loads(path.read_text())["measures"][MEASURE]
        if not abs(found - theirs) <= tolerance:
            sys.exit(f"{path}: {MEASURE} is {found:.5f}, beir's {theirs:.5f}, more than {tolerance:g} apart")
        words.append(f"{found:.5f} (at most {tolerance:g} apart)")
    report(agree=f"{MEASURE}: ours {', '.join(words)}, beir {theirs:.5f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [(float(sys.argv[i]), Path(sys.argv[i + 1])) for i in range(2, len(sys.argv), 2)])
