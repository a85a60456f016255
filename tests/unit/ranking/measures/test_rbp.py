"""Rank-biased precision by hand, by its definition, and against ir_measures."""

import random

import ir_measures
import pyarrow as pa
import pytest

from beirflow.evaluation.measures import measure

CUTOFFS = [1, 2, 3, 10]

Grades = dict[str, dict[str, int]]


def values(ranked: dict[str, list[str]], qrels: Grades, least: int) -> dict[str, dict[str, float]]:
    """RBP at all cutoffs by query."""
    rows = [(query, doc, -float(place)) for query, ids in ranked.items() for place, doc in enumerate(ids)]
    judged = [(query, doc, grade) for query, grades in qrels.items() for doc, grade in grades.items()]
    run, judgements = (
        pa.table(dict(zip(("query_id", "doc_id", "score"), map(list, zip(*each, strict=True)), strict=True)))
        for each in (rows, judged)
    )
    run = run.set_column(2, "score", run["score"].cast(pa.float32()))
    judgements = judgements.replace_schema_metadata({"relevant_from": str(least)})
    found = measure(run, judgements, CUTOFFS).set_index("query_id")
    return found[[f"RBP@{k}" for k in CUTOFFS]].to_dict("index")


def test_rbp_by_hand() -> None:
    """As computed by ir_measures with cwl-eval for RBP(p=0.8,rel=1): 0.328 of all three."""
    found = values({"q": ["a", "b", "c"]}, {"q": {"a": 1, "b": 0, "c": 2, "gone": 1}}, 1)["q"]
    assert found == pytest.approx({"RBP@1": 0.2, "RBP@2": 0.2, "RBP@3": 0.328, "RBP@10": 0.328}, abs=1e-12)


@pytest.mark.parametrize("least", [1, 2])
def test_rbp_is_its_definition_and_that_of_ir_measures(least: int) -> None:
    draw, documents = random.Random(least), [f"d{number:02}" for number in range(30)]
    ranked = {f"q{number}": draw.sample(documents, draw.choice([1, 2, 5, 25])) for number in range(20)}
    qrels = {query: {doc: draw.choice([-1, 0, 1, 2, 3]) for doc in draw.sample(documents, 12)} for query in ranked}
    found = values(ranked, qrels, least)
    provider = ir_measures.providers.registry["cwl_eval"]
    for k in CUTOFFS:
        for query, ids in ranked.items():
            ranks = [rank for rank, doc in enumerate(ids[:k], 1) if qrels[query].get(doc, 0) >= least]
            assert found[query][f"RBP@{k}"] == pytest.approx(0.2 * sum(0.8 ** (rank - 1) for rank in ranks), abs=1e-12)
        if provider.is_available():  # with the package cwl-eval; it has no cutoff, so that the run is cut
            cut = {query: {doc: -float(place) for place, doc in enumerate(ids[:k])} for query, ids in ranked.items()}
            for theirs in ir_measures.iter_calc([ir_measures.RBP(p=0.8, rel=least)], qrels, cut):
                assert found[theirs.query_id][f"RBP@{k}"] == pytest.approx(theirs.value, abs=1e-9)
