"""Measures of nuggets against ndeval, and measures of topics against their formulas, both against the oracle."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyndeval
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.evaluation.measures import measure

CUTOFFS = (1, 3, 5, 10, 20)
DOCUMENTS = [f"d{number}" for number in range(14)]

RANKED = st.lists(st.sampled_from(DOCUMENTS), unique=True)
FLAGS = st.dictionaries(st.sampled_from(DOCUMENTS), st.lists(st.booleans(), min_size=3, max_size=3), min_size=1)


def judged(rows: list[dict[str, Any]], **types: pa.DataType) -> pa.Table:
    names = {"query_id": pa.string(), "doc_id": pa.string(), "score": pa.int32(), **types}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in names.items()})


def measured(ranked: dict[str, list[str]], qrels: pa.Table, cutoffs: tuple[int, ...] = CUTOFFS) -> dict[str, dict[str, float]]:
    """Values of every query by measure."""
    rows = [(query, doc, -float(place)) for query, ids in ranked.items() for place, doc in enumerate(ids)]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    run = pa.table({"query_id": columns[0], "doc_id": columns[1], "score": pa.array(columns[2], pa.float32())})
    run = run.cast(pa.schema({"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float32()}))
    found: dict[str, dict[str, float]] = measure(run, qrels, cutoffs).set_index("query_id").to_dict()
    return found


@given(RANKED, FLAGS)
def test_alpha_ndcg_is_that_of_ndeval_and_coverage_the_share_of_nuggets(ranked: list[str], flags: dict[str, list[bool]]) -> None:
    rows = [{"query_id": "q", "doc_id": doc, "score": sum(of), "nuggets": of} for doc, of in sorted(flags.items())]
    found = measured({"q": ranked}, judged(rows, nuggets=pa.list_(pa.bool_())))
    for k in CUTOFFS:
        covered = {nugget for doc in ranked[:k] for nugget in range(3) if flags.get(doc, [False] * 3)[nugget]}
        assert found[f"coverage@{k}"]["q"] == pytest.approx(len(covered) / 3)
    lines = [pyndeval.SubtopicQrel("q", str(n), doc, int(of[n])) for doc, of in flags.items() for n in range(3)]
    names = [f"alpha-nDCG@{k}" for k in (5, 10, 20)]
    run = [pyndeval.ScoredDoc("q", doc, -float(place)) for place, doc in enumerate(ranked)]
    if ranked and any(map(any, flags.values())):
        right = pyndeval.RelevanceEvaluator(lines, measures=names).evaluate(run)["q"]
        assert {name: found[name]["q"] for name in names} == pytest.approx(right, abs=1e-6)


# A topic in which d1 and d2 are no longer relevant; a query of no topic, whose pair is missing; ranks of d1 move from 1 to 3.
PAIR = {"t-og": ["d1", "d3", "d2"], "t-changed": ["d3", "d2", "d1"], "u-og": ["d1"]}
CHANGED = [
    {"query_id": "t-og", "doc_id": "d1", "score": 1, "topic_id": "t", "changed": True},
    {"query_id": "t-og", "doc_id": "d2", "score": 1, "topic_id": "t", "changed": True},
    {"query_id": "t-changed", "doc_id": "d3", "score": 1, "topic_id": "t", "changed": False},
    {"query_id": "u-og", "doc_id": "d1", "score": 1, "topic_id": None, "changed": True},
]


def test_p_mrr_is_the_formula_of_followir_at_the_original_query_of_a_whole_topic() -> None:
    found = measured(PAIR, judged(CHANGED, topic_id=pa.string(), changed=pa.bool_()), (1, 2, 1000))
    # d1 from 1 to 3 is 1 - 1/3, d2 from 3 to 2 is 2/3 - 1; with a cut at 2, d1 from 1 to 3 and d2 from 3 to 2, at 1 from 1 to 2.
    expected = {1000: ((1 - 1 / 3) + (2 / 3 - 1)) / 2, 2: ((1 - 1 / 3) + (2 / 3 - 1)) / 2, 1: ((1 - 1 / 2) + 0) / 2}
    for k, value in expected.items():
        assert found[f"p-MRR@{k}"]["t-og"] == pytest.approx(value)
        assert np.isnan([found[f"p-MRR@{k}"][query] for query in ("t-changed", "u-og")]).all()
    gone = measured({"t-og": ["d1", "d2"], "t-changed": []}, judged(CHANGED, topic_id=pa.string(), changed=pa.bool_()), (10,))
    assert gone["p-MRR@10"]["t-og"] == pytest.approx((0 + (1 / 2 - 1)) / 2)  # d1 at 1 in both, d2 from 2 to 1: behind no document


def test_topics_that_are_not_whole_have_no_value_and_without_any_other_there_is_no_measure() -> None:
    alone = [{**row, "changed": False} if row["topic_id"] == "t" else row for row in CHANGED]
    found = measured(PAIR, judged(alone, topic_id=pa.string(), changed=pa.bool_()), (10,))
    assert not [name for name in found if name.startswith("p-MRR")]
    more = [*alone, {"query_id": "v-a", "doc_id": "d1", "score": 1, "topic_id": "v", "changed": True}]
    more.append({"query_id": "v-b", "doc_id": "d1", "score": 0, "topic_id": "v", "changed": False})
    found = measured({**PAIR, "v-a": ["d1"], "v-b": ["d2", "d1"]}, judged(more, topic_id=pa.string(), changed=pa.bool_()), (10,))
    values = found["p-MRR@10"]
    assert {query for query, value in values.items() if not np.isnan(value)} == {"v-a"}
    assert values["v-a"] == pytest.approx(1 - 1 / 2)
    single = [{"query_id": "q", "doc_id": "d1", "score": 1, "topic_id": None}]
    assert "robustness@10" not in measured({"q": ["d1"]}, judged(single, topic_id=pa.string()), (10,))


def p_mrr(before: Sequence[str], after: Sequence[str], changed: Sequence[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Return p-MRR of a topic by name, from its ranked documents under the original and the altered instruction."""
    measures = {}
    for k in cutoffs:
        moves = []
        for doc_id in changed:
            old, new = ([*ids[:k], doc_id].index(doc_id) + 1 for ids in (before, after))
            moves.append(new / old - 1 if old >= new else 1 - old / new)
        measures[f"p-MRR@{k}"] = math.fsum(moves) / len(moves)
    return measures


@given(RANKED, RANKED, st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1))
def test_p_mrr_agrees_with_its_definition(before: list[str], after: list[str], changed: list[str]) -> None:
    rows = [{"query_id": "a", "doc_id": doc, "score": 1, "topic_id": "t", "changed": True} for doc in sorted(changed)]
    rows.append({"query_id": "b", "doc_id": "d0", "score": 0, "topic_id": "t", "changed": False})
    found = measured({"a": before, "b": after}, judged(rows, topic_id=pa.string(), changed=pa.bool_()))
    for name, value in p_mrr(before, after, changed, CUTOFFS).items():
        assert found[name]["a"] == pytest.approx(value), name


def test_robustness_is_the_least_ndcg_of_a_topic_and_has_one_value_a_topic() -> None:
    rows = [{"query_id": query, "doc_id": "d1", "score": 1, "topic_id": query[0]} for query in ("1_0", "1_1", "1_2", "2_0")]
    found = measured(
        {"1_0": ["d1"], "1_1": ["d2", "d1"], "1_2": ["d1"], "2_0": ["d1"]}, judged(rows, topic_id=pa.string()), (10,)
    )
    values = found["robustness@10"]
    assert values["1_0"] == pytest.approx(1 / np.log2(3))
    assert values["2_0"] == 1
    assert np.isnan([values["1_1"], values["1_2"]]).all()
