"""The share of the exact hits that an approximate run has."""

import pyarrow as pa
import pyarrow.compute as pc

CUTOFFS = (10, 100, 1000)


def count_exact(exact: pa.Table, run: pa.Table, top_k: int) -> dict[str, int]:
    """Count the documents of an exact run that another has among as many of its own.

    The counts are, for each cutoff up to ``top_k``, ``exact_<k>``, the documents of the exact top k of all queries, and
    ``exact_<k>_found``, those of them in the approximate top k.
    """
    counts, keys = dict[str, int](), ["query_id", "doc_id"]
    for k in (k for k in CUTOFFS if k <= top_k):
        wanted, found = (table.filter(pc.field("rank") <= k).select(keys) for table in (exact, run))
        common = wanted.join(found, keys, join_type="left semi")
        counts |= {f"exact_{k}": wanted.num_rows, f"exact_{k}_found": common.num_rows}
    return counts
