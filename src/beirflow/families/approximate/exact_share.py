"""The share of the exact hits that an approximate run has."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

CUTOFFS = (10, 100, 1000)


def count_exact(exact: pa.Table, run: pa.Table, top_k: int) -> dict[str, int]:
    """Count the documents of an exact run that another has among as many of its own.

    The counts are, for each cutoff up to ``top_k``, ``exact_<k>``, the documents of the exact top k of all queries, and
    ``exact_<k>_found``, those of them in the approximate top k.
    """
    ids = {
        name: pc.unique(pa.chunked_array([*exact[name].chunks, *run[name].chunks], pa.string()))
        for name in ("query_id", "doc_id")
    }
    (exact_pairs, exact_ranks), (pairs, ranks) = (_pairs(table, ids) for table in (exact, run))
    counts = dict[str, int]()
    for k in (k for k in CUTOFFS if k <= top_k):
        top = exact_pairs[exact_ranks <= k]
        counts |= {f"exact_{k}": len(top), f"exact_{k}_found": int(np.isin(top, pairs[ranks <= k]).sum())}
    return counts


def _pairs(run: pa.Table, ids: Mapping[str, pa.Array]) -> tuple[np.ndarray, np.ndarray]:
    """Return one number for each pair of query and document, and the ranks of the pairs."""
    query, document = (pc.index_in(run[name], value_set=ids[name]).to_numpy().astype(np.int64) for name in ids)
    return query << 32 | document, run["rank"].to_numpy()
