"""Measures against formulas written out, against pytrec_eval, and against their definitions in loops."""

from math import log2

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from beirflow.evaluation.measures import measure
from beirflow.ranking.measures.all_measures import MEASURES

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]

TREC = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
NAMES = [name for name, each in MEASURES.items() if not each.needs]

# d1 is relevant with grade 2, d3 judged and not relevant, d5 relevant with grade 1; d7, relevant with grade 3, is not found;
# d2 is judged for another query, so it is no hole; d4 and d6 are holes.
RUN: Run = {"q": {"d4": 6.0, "d1": 5.0, "d2": 4.0, "d3": 3.0, "d5": 2.0, "d6": 1.0}}
QRELS: Qrels = {"q": {"d1": 2, "d3": 0, "d5": 1, "d7": 3}, "other": {"d2": 1}}


def table(nested: Run | Qrels, score: pa.DataType) -> pa.Table:
    rows = [(query, doc, value) for query, docs in nested.items() for doc, value in docs.items()]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = {"query_id": pa.string(), "doc_id": pa.string(), "score": score}
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(types.items(), columns, strict=True)})


def measured(run: Run, qrels: Qrels, cutoffs: tuple[int, ...] = (1, 3, 5, 10), least: int = 1) -> pd.DataFrame:
    """One row a query, by query id; a document is relevant from a grade."""
    judged = table(qrels, pa.int32()).replace_schema_metadata({"relevant_from": str(least)} if least > 1 else None)
    return measure(table(run, pa.float32()), judged, cutoffs).set_index("query_id")


def test_columns_are_named_as_beir_prints_them_and_rows_are_the_judged_queries() -> None:
    found = measure(table(RUN, pa.float32()), table({"b": {"d": 1}, "é": {"d": 1}, "B": {"d": 1}}, pa.int32()), [10, 1])
    assert list(found.columns) == ["query_id", *(f"{name}@{k}" for name in NAMES for k in (10, 1))]
    assert list(found["query_id"]) == ["B", "b", "é"]
    assert set(found.dtypes[1:]) == {np.dtype(np.float64)}


@pytest.mark.parametrize("below", [{"d1": -2}, {"d1": -2, "d2": 0}, {"d1": -5, "d2": -2, "d3": -1}])
def test_judgements_far_below_0_are_those_of_0(below: dict[str, int]) -> None:
    """As of spam in the Web Track; handed over as they are, those of a query that is not the first ended the process."""
    docs = {f"d{i}": float(-i) for i in range(1, 5)}
    run, others = dict.fromkeys("abc", docs), {"a": {"d1": 1, "d4": -3}, "c": {"d2": 2, "d1": -2}}
    found = measured(run, others | {"b": below})
    of_0 = {query: {doc: max(grade, 0) for doc, grade in grades.items()} for query, grades in (others | {"b": below}).items()}
    assert found.equals(measured(run, of_0))
    assert (found.loc["b"].drop([f"Hole@{k}" for k in (1, 3, 5, 10)]) == 0).all()
    assert found.loc["c", "MRR@10"] == 1 / 2


def test_the_order_of_the_rows_is_of_no_account() -> None:
    run, qrels = table(RUN, pa.float32()), table(QRELS, pa.int32())
    backwards = [part.take(list(range(part.num_rows))[::-1]) for part in (run, qrels)]
    assert measure(*backwards, [1, 3]).equals(measure(run, qrels, [1, 3]))


def test_many_ties_give_the_values_of_trec_eval_to_the_last_digit() -> None:
    """Some of the scores are equal in float32 alone, which trec_eval reads."""
    random, ids = np.random.default_rng(0), [f"d{i}" for i in range(300)]
    names = [f"q{i}" for i in range(20)]
    run = {query: dict(zip(ids, random.choice([0.25, 0.5, 0.5 + 2.0**-30], 300).tolist(), strict=True)) for query in names}
    qrels = {query: {doc_id: int(random.integers(0, 3)) for doc_id in random.choice(ids, 40, replace=False)} for query in names}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {f"{name}.1,10,100" for name in TREC.values()}).evaluate(run)
    found = measured(run, qrels, (1, 10, 100))
    for query in names:
        expected = {f"{ours}@{k}": theirs[query][f"{name}_{k}"] for ours, name in TREC.items() for k in (1, 10, 100)}
        assert found.loc[query, list(expected)].to_dict() == expected


def by_definition(run: Run, qrels: Qrels, query: str, k: int, least: int) -> dict[str, float]:
    """Our measures of one query, by loops over the sorted list."""
    ranked = sorted(run.get(query, {}).items(), key=lambda item: (np.float32(item[1]), item[0].encode()), reverse=True)
    top = [doc for doc, _ in ranked[:k]]
    grades = qrels[query]
    relevant = {doc for doc, grade in grades.items() if grade >= least}
    judged = {doc for docs in qrels.values() for doc in docs}
    hits = sum(doc in relevant for doc in top)
    reciprocal = 0.0
    for place, doc in enumerate(top, start=1):
        if doc in relevant:
            reciprocal = 1 / place
            break
    dcg = sum((2 ** max(grades.get(doc, 0), 0) - 1) / log2(place + 1) for place, doc in enumerate(top, start=1))
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    ideal = sum((2**grade - 1) / log2(place + 1) for place, grade in enumerate(best, start=1))
    return {
        f"MRR@{k}": reciprocal,
        f"R_cap@{k}": hits / min(len(relevant), k) if relevant else 0.0,
        f"Hole@{k}": sum(doc not in judged for doc in top) / k,
        f"Accuracy@{k}": float(hits > 0),
        f"F1@{k}": 2 * hits / (k + len(relevant)),  # the harmonic mean of hits / k and hits / relevant
        f"NDCG_exp@{k}": dcg / ideal if ideal else 0.0,
    }


queries = st.sampled_from(["q", "Q", "q10", "é"])
documents = st.sampled_from(["d1", "d2", "d10", "D", "Ж", "d3", "\U0001f600"])
runs = st.dictionaries(queries, st.dictionaries(documents, st.sampled_from([-1.0, 0.0, 0.25, 0.25 + 2.0**-30, 2.0]), min_size=1))
judgements = st.dictionaries(queries, st.dictionaries(documents, st.integers(-1, 3), min_size=1), min_size=1)


@given(runs, judgements, st.sampled_from([1, 2, 3]))
def test_all_measures_agree_with_pytrec_eval_and_with_their_definitions(run: Run, qrels: Qrels, least: int) -> None:
    cutoffs, names = (1, 2, 5, 100), {f"{name}.1,2,5,100" for name in TREC.values()}
    found = measured(run, qrels, cutoffs, least)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=least).evaluate(run)
    assert list(found.index) == sorted(qrels, key=str.encode)
    for query in qrels:
        for k in cutoffs:
            expected = {f"{ours}@{k}": theirs.get(query, {}).get(f"{name}_{k}", 0.0) for ours, name in TREC.items()}
            expected |= by_definition(run, qrels, query, k, least)
            assert found.loc[query, list(expected)].to_dict() == pytest.approx(expected, abs=1e-12)
            assert found.loc[query, f"R_cap@{k}"] >= found.loc[query, f"Recall@{k}"]
    assert found.notna().all(axis=None)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all(axis=None)
