"""Compare queries that were drawn independently: as many for each document, and on the whole as long.

python -m bench.generation.check QUERIES OURS PEER
"""

import json
import sys
from pathlib import Path

import numpy as np

from bench.child import report

STANDARD_ERRORS = 5.0
"""That the mean lengths may be apart."""


def main(queries: int, *folders: Path) -> None:
    """Compare, and say what was compared."""
    sides = [json.loads((folder / "queries.json").read_text()) for folder in folders]
    if len({len(side) for side in sides}) != 1:
        sys.exit(f"the sides wrote for {' and '.join(str(len(side)) for side in sides)} documents")
    if any(len(found) > queries for side in sides for found in side):
        sys.exit(f"a document has more than {queries} queries")
    lengths = [np.array([len(query.split()) for found in side for query in found if query]) for side in sides]
    means, errors = [each.mean() for each in lengths], [each.std() / len(each) ** 0.5 for each in lengths]
    if not abs(means[0] - means[1]) <= STANDARD_ERRORS * float(np.hypot(*errors)):
        sys.exit(f"queries have {means[0]:.2f} and {means[1]:.2f} words on average")
    found = f"{len(sides[0])} documents, {len(lengths[0]):,} queries of {means[0]:.1f} words on average"
    report(agree=f"{found}; the peer's, drawn by other numbers, {len(lengths[1]):,} of {means[1]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
