"""Samples of a dataset: of its judged queries, or of its documents.

A sample depends only on ids and a seed, not on the order of files or the machine; with the same seed, a smaller sample is part of
a larger one.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.files.errors import DataError
from beirflow.sources.forms import TOPIC


def drawn(ids: Iterable[str], *, wanted: int, seed: int) -> np.ndarray:
    """Return the rows, ascending int64, of at most ``wanted`` of n different ids.

    They are those where the sha256 of seed and id begins with the smallest 64 bits.
    """
    digests = (hashlib.sha256(f"{seed} {each}".encode()).digest()[:8] for each in ids)
    # Big-endian, so that numbers are ordered as digests in hexadecimal are.
    return np.sort(np.argsort(np.frombuffer(b"".join(digests), ">u8"), kind="stable")[:wanted])


def sampled_queries(queries: pa.Table, qrels: pa.Table, *, wanted: int, seed: int) -> tuple[pa.Table, pa.Table]:
    """Return at most ``wanted`` of the judged queries, and their judgements, in the order that they have.

    The queries of a topic are taken together. Raises DataError if one has more than ``wanted``.
    """
    ids = queries["query_id"].to_pylist()
    unit_of = dict(zip(ids, ids, strict=True))
    if TOPIC in qrels.column_names:
        unit_of |= {
            each[0]: each[1] or each[0] for each in zip(*(qrels[key].to_pylist() for key in ("query_id", TOPIC)), strict=True)
        }
    sizes = Counter(unit_of.values())
    units, most = list(sizes), max(sizes.values())
    if wanted < most:
        raise DataError(f"a sample of {wanted} queries was asked for, but a topic has {most}, which belong together; take more")
    chosen = {units[row] for row in drawn(units, wanted=wanted // most, seed=seed)}
    taken = queries.filter(pa.array([unit_of[query_id] in chosen for query_id in ids]))
    return taken, qrels.filter(pc.is_in(qrels["query_id"], value_set=taken["query_id"].combine_chunks()))


def judged_among(queries: pa.Table, qrels: pa.Table, doc_ids: pa.Array) -> tuple[pa.Table, pa.Table]:
    """Return the queries judged on a sample of documents, and these judgements, in the order that they have.

    Raises DataError if there are none.
    """
    judged = qrels.filter(pc.is_in(qrels["doc_id"], value_set=doc_ids.cast(qrels.schema.field("doc_id").type)))
    if not judged.num_rows:
        raise DataError(f"none of the {len(doc_ids):,} documents of the sample is judged for a query; take more of them")
    return queries.filter(pc.is_in(queries["query_id"], value_set=pc.unique(judged["query_id"]))), judged
