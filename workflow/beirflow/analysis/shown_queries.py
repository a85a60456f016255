"""Which queries of a dataset are shown: all of a small one, of a large one those that say most and a random rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

SHOWN = 100
WORST = 50
DIFFERENT = 25
SEED = 20211018


@dataclass(frozen=True)
class Sample:
    """Queries that are shown.

    Attributes:
        rows: Numbers of the queries, the worst first by their mean over systems.
        of: Number of queries that there are.
        how: How they were chosen, in words.
    """

    rows: list[int]
    of: int
    how: str

    def described(self) -> dict[str, Any]:
        """As it is written in JSON."""
        return {"shown": len(self.rows), "of": self.of, "how": self.how}


def choose_queries(scores: np.ndarray, measure: str) -> Sample:
    """Choose queries: the worst, those where systems differ most, and a random rest; ties are broken at random.

    Args:
        scores: Of every system and query, float64 of shape (systems, queries).
        measure: Name of the scores.

    Returns:
        The sample; the same for the same scores.
    """
    systems, queries = scores.shape
    shuffled = np.random.default_rng(SEED).permutation(queries)
    mean = scores.mean(axis=0)
    worst_first = shuffled[np.argsort(mean[shuffled], kind="stable")]
    if queries <= SHOWN:
        return Sample(worst_first.tolist(), queries, "all queries")
    chosen = list(dict.fromkeys(worst_first[:WORST].tolist()))
    parts = [f"the {WORST} worst by {'mean ' if systems > 1 else ''}{measure}"]
    if systems > 1:
        spread = np.ptp(scores, axis=0)
        different = shuffled[np.argsort(-spread[shuffled], kind="stable")]
        chosen += different[~np.isin(different, chosen)][:DIFFERENT].tolist()
        parts.append(f"then the {DIFFERENT} where {'the two' if systems == 2 else 'two'} systems differ most")
    rest = shuffled[~np.isin(shuffled, chosen)][: SHOWN - len(chosen)].tolist()
    how = f"{', '.join(parts)}, and {len(rest)} drawn at random from the others"
    taken = set(chosen + rest)
    return Sample([row for row in worst_first.tolist() if row in taken], queries, how)
