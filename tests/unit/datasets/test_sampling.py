"""Queries, documents and judgements of a sample."""

import pyarrow as pa
import pytest
from beirflow.datasets.sampling import drawn, judged_among, sampled_queries
from beirflow.files.errors import DataError

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


def test_what_is_drawn_is_of_the_smallest_digests_whatever_the_order() -> None:
    ids = [f"d{number}" for number in range(1000)]
    rows = drawn(ids, wanted=100, seed=3)
    assert {ids[row] for row in rows} == {ids[::-1][row] for row in drawn(ids[::-1], wanted=100, seed=3)}
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert set(drawn(ids, wanted=10, seed=3)) < set(rows)
    assert 350 < rows.mean() < 650
    assert drawn(ids, wanted=2000, seed=3).tolist() == list(range(1000))


def test_judgements_of_other_documents_are_left_out_and_so_are_queries_without_any() -> None:
    queries, judged = judged_among(QUERIES, QRELS, pa.array(["2", "9"], pa.large_string()))
    assert queries["query_id"].to_pylist() == ["p", "r"]
    assert judged.to_pydict() == {"query_id": ["p", "r"], "doc_id": ["2", "2"], "score": [0, 2]}
    with pytest.raises(DataError, match="none of the 1 documents of the sample is judged"):
        judged_among(QUERIES, QRELS, pa.array(["9"]))
