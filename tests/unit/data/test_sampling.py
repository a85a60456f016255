"""Queries, documents and judgements of a sample."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pytest

from beirflow.core.errors import DataError
from beirflow.data.sampling import judged_among, sampled_queries

QUERIES = pa.table({"query_id": ["p", "q", "r"], "text": pa.array(["a", "b", "c"], pa.large_string())})
QRELS = pa.table({"query_id": ["p", "p", "q", "r"], "doc_id": ["1", "2", "3", "2"], "score": pa.array([1, 0, 1, 2], pa.int32())})


def test_a_sample_depends_on_ids_and_seed_alone_and_smaller_ones_are_in_larger_ones() -> None:
    ids = [f"q{number:02}" for number in range(40)]
    queries = pa.table({"query_id": ids, "text": pa.array(ids, pa.large_string())})
    qrels = pa.table({"query_id": ids * 2, "doc_id": ["d"] * 80, "score": pa.array([1] * 80, pa.int32())})
    five, judged = sampled_queries(queries, qrels, wanted=5, seed=0)
    ten, _ = sampled_queries(queries.take(list(reversed(range(40)))), qrels, wanted=10, seed=0)
    other, _ = sampled_queries(queries, qrels, wanted=5, seed=1)
    assert five["query_id"].to_pylist() == sorted(five["query_id"].to_pylist())
    assert len(five) == 5
    assert set(five["query_id"].to_pylist()) < set(ten["query_id"].to_pylist())
    assert set(other["query_id"].to_pylist()) != set(five["query_id"].to_pylist())
    assert judged.num_rows == 10
    assert sampled_queries(queries, qrels, wanted=50, seed=0)[0].equals(queries)


def test_judgements_of_other_documents_are_left_out_and_so_are_queries_without_any() -> None:
    queries, judged = judged_among(QUERIES, QRELS, pa.array(["2", "9"], pa.large_string()))
    assert queries["query_id"].to_pylist() == ["p", "r"]
    assert judged.to_pydict() == {"query_id": ["p", "r"], "doc_id": ["2", "2"], "score": [0, 2]}
    with pytest.raises(DataError, match="none of the 1 documents of the sample is judged"):
        judged_among(QUERIES, QRELS, pa.array(["9"]))


def with_topics(topics: Mapping[str, int], singles: int) -> tuple[pa.Table, pa.Table]:
    """Topics of some numbers of queries, and single queries beside them, each judged once."""
    of = {f"{topic}-{number}": topic for topic, queries in topics.items() for number in range(queries)}
    of |= {f"single-{number:02}": None for number in range(singles)}
    ids = sorted(of)
    queries = pa.table({"query_id": ids, "text": pa.array(ids, pa.large_string())})
    scores, names = pa.array([1] * len(ids), pa.int32()), pa.array([of[query_id] for query_id in ids], pa.string())
    return queries, pa.table({"query_id": ids, "doc_id": [f"d-{each}" for each in ids], "score": scores, "topic_id": names})


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("topics", "singles", "wanted", "expected"),
    [
        ({"t": 10}, 40, 20, 20),
        ({"t": 10}, 4, 13, 13),
        ({"t": 10}, 4, 12, 12),
        ({"t": 10, "u": 7, "v": 3}, 0, 11, 10),
        ({"a": 6, "b": 5, "c": 5}, 0, 10, 10),
        ({"a": 6, "b": 5, "c": 5}, 0, 15, 11),
        ({"a": 2, "b": 2, "c": 2}, 0, 5, 4),
        ({"a": 2, "b": 2}, 1, 50, 5),
    ],
)
def test_a_sample_has_as_many_queries_as_whole_topics_and_single_queries_add_up_to(
    topics: dict[str, int], singles: int, wanted: int, expected: int, seed: int
) -> None:
    queries, qrels = with_topics(topics, singles)
    taken, judged = sampled_queries(queries, qrels, wanted=wanted, seed=seed)
    assert len(taken) == expected
    left = Counter(query_id.partition("-")[0] for query_id in taken["query_id"].to_pylist())
    assert all(left[topic] in (0, size) for topic, size in topics.items())
    assert judged["query_id"].to_pylist() == taken["query_id"].to_pylist()
    # Without any topic, nothing says what to compare.
    assert ("topic_id" in judged.column_names) == bool(left.keys() & topics.keys())


CHANGED = [
    ("t-a", "1", "t", True),
    ("t-a", "2", "t", False),
    ("t-b", "2", "t", False),
    ("u-a", "3", "u", True),
    ("u-b", "2", "u", False),
]


@pytest.mark.parametrize(
    ("doc_ids", "whole"), [(["1", "2", "3"], {"t", "u"}), (["1", "2"], {"t"}), (["2", "3"], {"u"}), (["2"], None), (["1"], None)]
)
def test_a_topic_that_lost_a_query_or_all_its_changed_documents_to_a_sample_of_documents_is_none(
    doc_ids: list[str], whole: set[str] | None
) -> None:
    names, kinds = ("query_id", "doc_id", "topic_id", "changed"), (pa.string(), pa.string(), pa.string(), pa.bool_())
    columns = (pa.array(column, kind) for column, kind in zip(zip(*CHANGED, strict=True), kinds, strict=True))
    qrels = pa.table(dict(zip(names, columns, strict=True)))
    queries = pa.table({"query_id": ["t-a", "t-b", "u-a", "u-b"]})
    _, judged = judged_among(queries, qrels, pa.array(doc_ids))
    if whole is None:
        assert judged.column_names == ["query_id", "doc_id"]
    else:
        assert {*judged["topic_id"].to_pylist()} - {None} == whole
