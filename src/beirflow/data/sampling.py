"""Samples of a dataset: of its judged queries, or of its documents.

A sample depends only on ids and a seed, not on the order of files or the machine; with the same seed, a smaller sample is part of
a larger one, unless topics have different numbers of queries.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.data.sources.forms import TOPIC

CHANGED = "changed"  # column of judgements


def drawn(ids: Iterable[str], *, wanted: int, seed: int) -> np.ndarray:
    """Return the rows, ascending int64, of at most ``wanted`` of n different ids.

    They are those where the sha256 of seed and id begins with the smallest 64 bits.
    """
    return np.sort(_drawing_order(ids, seed)[:wanted])


def _drawing_order(ids: Iterable[str], seed: int) -> np.ndarray:
    """Return the rows of n different ids in the order in which they are drawn, int64."""
    digests = (hashlib.sha256(f"{seed} {each}".encode()).digest()[:8] for each in ids)
    # Big-endian, so that numbers are ordered as digests in hexadecimal are.
    return np.argsort(np.frombuffer(b"".join(digests), ">u8"), kind="stable")


def sampled_queries(queries: pa.Table, qrels: pa.Table, *, wanted: int, seed: int) -> tuple[pa.Table, pa.Table]:
    """Return at most ``wanted`` of the judged queries, and their judgements, in the order that they have.

    The queries of a topic are taken together, so there may be fewer: as many as topics and single queries add up to. Raises
    DataError if a topic has more than ``wanted``.
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
    order = [units[row] for row in _drawing_order(units, seed)]
    chosen = {order[place] for place in _filling([sizes[unit] for unit in order], wanted)}
    taken = queries.filter(pa.array([unit_of[query_id] in chosen for query_id in ids]))
    judged = qrels.filter(pc.is_in(qrels["query_id"], value_set=taken["query_id"].combine_chunks()))
    return taken, _without_lost_topics(judged, qrels)


def _filling(sizes: Sequence[int], wanted: int) -> list[int]:
    """Return the places of sizes whose sum is the largest of at most ``wanted``, the first ones where there is a choice."""
    # Bit n of an entry: the sizes from there on have some with the sum n.
    sums, most = [1], (1 << (wanted + 1)) - 1
    for size in reversed(sizes):
        sums.append((sums[-1] | sums[-1] << size) & most)
    sums.reverse()
    left, places = sums[0].bit_length() - 1, []
    for place, size in enumerate(sizes):
        if size <= left and sums[place + 1] >> (left - size) & 1:
            places.append(place)
            left -= size
    return places


def whole_topics(qrels: pa.Table) -> int:
    """Return the number of topics whose queries are compared."""
    return len(pc.unique(qrels[TOPIC].drop_null())) if TOPIC in qrels.column_names else 0


def _without_lost_topics(qrels: pa.Table, whole: pa.Table) -> pa.Table:
    """Return judgements of a sample without topics that lost a query, or all their changed documents.

    ``whole`` are those that the sample was drawn from. Without any topic left, nothing says what to compare.
    """
    if TOPIC not in qrels.column_names:
        return qrels
    pairs = ({*zip(each[TOPIC].to_pylist(), each["query_id"].to_pylist(), strict=True)} for each in (whole, qrels))
    before, after = pairs
    kept = {topic for topic, _ in after} - {topic for topic, _ in before - after} - {None}
    if CHANGED in qrels.column_names:
        kept &= {*qrels.filter(qrels[CHANGED])[TOPIC].to_pylist()}
    if not kept:
        return qrels.drop_columns([name for name in (TOPIC, CHANGED) if name in qrels.column_names])
    topics = [topic if topic in kept else None for topic in qrels[TOPIC].to_pylist()]
    return qrels.set_column(qrels.column_names.index(TOPIC), TOPIC, pa.array(topics, pa.string()))


def judged_among(queries: pa.Table, qrels: pa.Table, doc_ids: pa.Array) -> tuple[pa.Table, pa.Table]:
    """Return the queries judged on a sample of documents, and these judgements, in the order that they have.

    Raises DataError if there are none.
    """
    judged = qrels.filter(pc.is_in(qrels["doc_id"], value_set=doc_ids.cast(qrels.schema.field("doc_id").type)))
    if not judged.num_rows:
        raise DataError(f"none of the {len(doc_ids):,} documents of the sample is judged for a query; take more of them")
    taken = queries.filter(pc.is_in(queries["query_id"], value_set=pc.unique(judged["query_id"])))
    return taken, _without_lost_topics(judged, qrels)
