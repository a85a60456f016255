"""Repeated lookup of documents by id: Arrow's ``index_in`` would build a table of the corpus each time."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas.util import hash_array

BLOCK_IDS = 1 << 18
"""Ids that are Python strings at a time."""


class RowsById:
    """The rows of the documents of a corpus.

    Args:
        ids: Their ids, no two of which are the same, strings of shape (n,).
    """

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        blocks = [_hashes(ids.slice(start, BLOCK_IDS)) for start in range(0, len(ids), BLOCK_IDS)]
        hashes = np.concatenate([np.empty(0, np.uint64), *blocks])
        self._rows = np.argsort(hashes)
        self._hashes = hashes[self._rows]

    def find(self, names: pa.Array) -> np.ndarray:
        """Look up ids.

        Args:
            names: Strings of the same type, of shape (m,).

        Returns:
            The row of each, -1 where there is none, int64 of shape (m,).
        """
        hashes, matches = _hashes(names), np.full(len(names), -1)
        places = np.searchsorted(self._hashes, hashes)
        left = np.arange(len(names))
        while len(left):  # once, but for ids that share a hash
            left = left[places[left] < len(self._rows)]
            left = left[self._hashes[places[left]] == hashes[left]]
            rows = self._rows[places[left]]
            same = pc.equal(self._ids.take(pa.array(rows)), names.take(pa.array(left))).to_numpy(zero_copy_only=False)
            matches[left[same]] = rows[same]
            left = left[~same]
            places[left] += 1
        return matches


def _hashes(names: pa.Array) -> np.ndarray:
    """uint64 of shape (n,)."""
    return hash_array(names.to_numpy(zero_copy_only=False), categorize=False)
