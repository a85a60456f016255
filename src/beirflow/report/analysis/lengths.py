"""Document lengths in words, as histograms that can be summed and drawn.

A word is a sequence without white space. All histograms have the same bins, so that counts of several corpora can be summed; bins
grow by about a quarter (ten per decade), in whole words.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

EDGES = (0, *np.unique(np.round(10 ** (np.arange(61) / 10)).astype(int)).tolist())
"""Bin i holds lengths from edge i (inclusive) to edge i + 1 (exclusive), the last bin all longer ones: 0, 1, 2, …, 10⁶."""

NO_WORD = r"[^\p{L}\p{M}\p{N}]+"
"""Separator of words in comparisons of texts: words are sequences of letters, marks and digits of any script."""

QUANTILES = (5, 25, 50, 75, 95)


Lengths = Mapping[str, tuple[Sequence[int], Sequence[int]]]
"""By name, the edges and counts of a histogram of lengths in words."""


def count_words(texts: pa.Array) -> np.ndarray:
    """Return the number of words of each of n texts, int32 of shape (n,)."""
    words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts))
    # An empty or blank text is split into one empty word.
    some = pc.greater(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0)
    return np.where(some.to_numpy(zero_copy_only=False), pc.list_value_length(words).to_numpy(), 0).astype(np.int32)


def histogram(lengths: np.ndarray) -> dict[str, Any]:
    """Return a histogram of lengths in words, with quantiles and mean.

    It has ``edges`` and ``counts`` without the empty bins at the end, ``quantiles`` by percent, ``mean`` and ``n``; quantiles and
    mean are None if n is 0.
    """
    # Longer texts count in the last bin.
    counts, _ = np.histogram(np.minimum(lengths, EDGES[-1] - 1), bins=EDGES)
    used = int(np.max(np.flatnonzero(counts), initial=0)) + 1
    quantiles = np.quantile(lengths, np.array(QUANTILES) / 100).tolist() if len(lengths) else [None] * len(QUANTILES)
    return {
        "edges": list(EDGES[: used + 1]),
        "counts": counts[:used].tolist(),
        "quantiles": dict(zip(map(str, QUANTILES), quantiles, strict=True)),
        "mean": float(lengths.mean()) if len(lengths) else None,
        "n": len(lengths),
    }


def by_name(lengths: Mapping[str, Any]) -> dict[str, Any]:
    """Return the histograms of an inspection by name in tables and figures."""
    return {"all documents": lengths["all"], "relevant": lengths["relevant"], **lengths["retrieved"]}


def added_up(named: Sequence[Mapping[str, Mapping[str, Any]]]) -> Lengths:
    """Sum the histograms of several corpora by name; return edges and counts over the corpora that have the name."""
    names = dict.fromkeys(name for each in named for name in each)
    return {
        name: (
            max((list(each[name]["edges"]) for each in named if name in each), key=len),
            [sum(counts) for counts in zip_longest(*(each[name]["counts"] for each in named if name in each), fillvalue=0)],
        )
        for name in names
    }


def median(histograms: Sequence[Mapping[str, Any]]) -> float:
    """Return the median of histograms: exact for one, else interpolated within its bin; not-a-number without counts."""
    counted = [each for each in histograms if each["n"]]
    if len(counted) <= 1:
        return float(counted[0]["quantiles"]["50"]) if counted else float("nan")
    edges, counts = added_up([{"": each} for each in counted])[""]
    return float(np.interp(sum(counts) / 2, np.concatenate([[0], np.cumsum(counts)]), edges))
