"""Documents that queries exclude are left out of every ranking, before the cut."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from beirflow.core.errors import DataError
from beirflow.data.own_candidates import candidates_in
from beirflow.data.prepare import excluded_rows_of
from beirflow.ranking import searched
from beirflow.ranking.searched import Ids, excluded_rows, read_every_id, rows_of_pairs
from run_results import RunResults

DOCUMENTS = pa.array(["a", "b", "q1", "c", "d"])
EXCLUDED = pa.array([["c", "b", "nowhere"], ["q1", "a"], []])
QUERIES = pa.table({"query_id": ["q0", "q1", "q2"], "excluded_rows": excluded_rows_of(EXCLUDED, DOCUMENTS)})


def rows(queries: pa.Table, *, drop: bool) -> list[list[int]]:
    found = excluded_rows(queries, DOCUMENTS, drop_self_matches=drop)
    assert found.dtype == np.int64
    return [sorted(row for row in of_query if row >= 0) for of_query in found.tolist()]


def test_the_document_of_the_own_id_and_those_that_a_query_excludes_are_left_out_once() -> None:
    assert rows(QUERIES, drop=True) == [[1, 3], [0, 2], []]
    assert rows(QUERIES.set_column(1, "excluded_rows", [[[1], [], []]]), drop=True) == [[1], [2], []]
    assert rows(QUERIES.select(["query_id"]), drop=True) == [[], [2], []]
    assert rows(QUERIES.select(["query_id"]), drop=False) == [[], [], []]


def test_what_is_no_candidate_of_a_query_is_left_out_and_a_candidate_that_it_excludes() -> None:
    candidates = pa.array([["d", "a", "b"], ["q1", "c"], ["nowhere"]])
    queries = QUERIES.append_column("candidate_ids", candidates)
    assert rows(queries, drop=True) == [[1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 3, 4]]
    ids = Ids(queries["query_id"].combine_chunks(), DOCUMENTS, excluded_rows(QUERIES, DOCUMENTS, drop_self_matches=True))
    stated = candidates_in(queries)
    assert stated is not None
    query, row = rows_of_pairs(stated, ids, 3)
    assert list(zip(query.tolist(), row.tolist(), strict=True)) == [(0, 4), (0, 0), (1, 3)]
    with pytest.raises(DataError, match="a query has 3 candidates, all of which are ranked; set 'top_k: 3' or more"):
        rows_of_pairs(stated, ids, 2)


def test_more_excluded_documents_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MOST_EXCLUDED", 5)
    with pytest.raises(
        DataError, match="3 queries for one of which 2 documents of a chunk may be left out, more than 5 together"
    ):
        excluded_rows(QUERIES, DOCUMENTS, drop_self_matches=False)


def test_more_ids_than_an_array_of_arrow_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = RunResults(tmp_path, {"d1": "text", "d10": "other"}, {"q": "?"}, qrels={"q": {"d1": 1}})
    monkeypatch.setattr(searched, "MOST_ID_BYTES", 5)
    assert read_every_id(made.documents_path)[0].to_pylist() == ["d1", "d10"]
    monkeypatch.setattr(searched, "MOST_ID_BYTES", 4)
    with pytest.raises(DataError, match="the ids of its 2 documents have 5 bytes, more than the 4 that can be looked up at once"):
        read_every_id(made.documents_path)


def test_excluded_documents_without_their_rows_are_not_ignored() -> None:
    queries = pa.table({"query_id": ["q0", "q1", "q2"], "excluded_ids": EXCLUDED})
    with pytest.raises(DataError, match="have excluded_ids but no excluded_rows, as of an earlier version"):
        excluded_rows(queries, DOCUMENTS, drop_self_matches=False)
