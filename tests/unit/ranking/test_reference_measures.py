"""The second path to the measures: against pytrec_eval, the first path, and by hand."""

import math
import random

import pyarrow as pa
import pytest

from beirflow.evaluation.measures import measure
from beirflow.ranking.reference_measures import measures_of_query

CUTOFFS = [1, 3, 10, 100]


def table_of(rows: list[tuple[str, str, float]], kind: pa.DataType) -> pa.Table:
    queries, documents, values = (list(column) for column in zip(*rows, strict=True))
    return pa.table({"query_id": queries, "doc_id": documents, "score": pa.array(values, kind)})


@pytest.mark.parametrize("least", [1, 2])
def test_both_paths_agree_on_random_runs_with_negative_grades_holes_and_empty_queries(least: int) -> None:
    draw = random.Random(7)
    documents = [f"d{i:03}" for i in range(150)]
    rows, grades, ranked = [], [], {}
    for query in (f"q{i:02}" for i in range(40)):
        found = draw.sample(documents, draw.choice([0, 1, 5, 120]))
        ranked[query] = sorted(((draw.randrange(10) / 4, doc_id) for doc_id in found), reverse=True)
        rows += [(query, doc_id, score) for score, doc_id in ranked[query]]
        some = draw.sample(documents[:90], draw.choice([1, 4, 30]))
        grades += [(query, doc_id, draw.choice([-1, 0, 1, 2, 3])) for doc_id in some]
    run, qrels = table_of(rows, pa.float32()), table_of(grades, pa.int32())
    qrels = qrels.replace_schema_metadata({"relevant_from": str(least)} if least > 1 else None)
    judged = {doc_id for _, doc_id, _ in grades}
    expected = measure(run, qrels, CUTOFFS).set_index("query_id").to_dict("index")
    for query, values in expected.items():
        judgements = {doc_id: grade for of, doc_id, grade in grades if of == query}
        again = measures_of_query([doc_id for _, doc_id in ranked[query]], judgements, judged, CUTOFFS, least)
        assert again == pytest.approx(values, abs=1e-12)
        assert set(again) == set(values)


def test_a_query_by_hand() -> None:
    found = measures_of_query(["a", "x", "b", "c"], {"a": 1, "b": 2, "gone": 1, "c": 0, "bad": -1}, {"a", "b", "c", "gone"}, [3])
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(
        {
            "NDCG@3": (1 + 2 / math.log2(4)) / ideal,
            "MAP@3": (1 / 1 + 2 / 3) / 3,
            "Recall@3": 2 / 3,
            "P@3": 2 / 3,
            "MRR@3": 1,
            "R_cap@3": 2 / 3,
            "Hole@3": 1 / 3,
            "Accuracy@3": 1,
            "F1@3": 2 / 3,
            "NDCG_exp@3": (1 + 3 / math.log2(4)) / (3 + 1 / math.log2(3) + 1 / math.log2(4)),
        }
    )
