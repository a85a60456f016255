"""Documents that queries exclude are left out of every ranking, before the cut."""

import numpy as np
import pyarrow as pa
import pytest
from beirflow.audit.recomputed.runs import RunRules
from beirflow.files.errors import DataError
from beirflow.runs import searched
from beirflow.runs.searched import excluded_rows

DOCUMENTS = pa.array(["a", "b", "q1", "c", "d"])
QUERIES = pa.table({"query_id": ["q0", "q1", "q2"], "excluded_ids": [["c", "b", "nowhere"], ["q1", "a"], []]})


def rows(queries: pa.Table, *, drop: bool) -> list[list[int]]:
    found = excluded_rows(queries, DOCUMENTS, drop_self_matches=drop)
    assert found.dtype == np.int64
    return [sorted(row for row in of_query if row >= 0) for of_query in found.tolist()]


def test_the_document_of_the_own_id_and_those_that_a_query_excludes_are_left_out_once() -> None:
    assert rows(QUERIES, drop=True) == [[1, 3], [0, 2], []]
    assert rows(QUERIES.set_column(1, "excluded_ids", [[["b"], [], []]]), drop=True) == [[1], [2], []]
    assert rows(QUERIES.select(["query_id"]), drop=True) == [[], [2], []]
    assert rows(QUERIES.select(["query_id"]), drop=False) == [[], [], []]


def test_more_excluded_documents_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MOST_EXCLUDED", 5)
    with pytest.raises(DataError, match="3 queries of which one excludes 2 documents of a chunk, more than 5 together"):
        excluded_rows(QUERIES, DOCUMENTS, drop_self_matches=False)


def test_an_audit_notices_an_excluded_document_and_a_run_that_is_too_short_for_them() -> None:
    rules = RunRules(
        top_k=5,
        drop=True,
        documents=5,
        queries=frozenset({"q0", "q1"}),
        own=frozenset({"q1"}),
        full=True,
        excluded={"q0": frozenset({"b", "c"}), "q1": frozenset({"q1", "a"})},
    )
    assert (rules.length("q0"), rules.length("q1")) == (3, 3)
    assert rules.problem(("q0", ["q1", "d", "a"], [3.0, 2.0, 1.0])) == ""
    assert "expected 3" in rules.problem(("q0", ["q1", "a"], [3.0, 2.0]))
    assert "found 'b', which it excludes" in rules.problem(("q0", ["q1", "b", "a"], [3.0, 2.0, 1.0]))
