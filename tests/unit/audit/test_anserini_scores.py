"""Scores as Anserini writes and trec_eval reads them, beside a loop over hits, trec_eval, and what float32 can hold."""

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import anserini_run
from beirflow.audit.anserini_scores import as_read


def tied(score: float, number: int) -> pd.DataFrame:
    return pd.DataFrame({"query_id": "q", "doc_id": [f"d{i}" for i in range(number)], "score": np.float32(score)})


def order(run: pd.DataFrame) -> list[str]:
    """Order in which trec_eval ranks a run: each document's place, by its reciprocal rank."""
    scores = dict(zip(run["doc_id"], run["score"].astype(float), strict=True))
    places = {}
    for doc_id in scores:
        found = pytrec_eval.RelevanceEvaluator({"q": {doc_id: 1}}, {"recip_rank"}).evaluate({"q": scores})
        places[doc_id] = 1 / found["q"]["recip_rank"]
    return sorted(places, key=places.__getitem__)


@pytest.mark.parametrize(
    ("score", "ids"),
    [
        (5.25, "d0 d1 d2"),  # all apart
        (20.0, "d0 d2 d1"),  # a step of float32 is 1.9e-6: the second and the third become equal
        (40.0, "d1 d0 d2"),  # 3.8e-6: the first and the second
        (100.0, "d2 d1 d0"),  # 7.6e-6: all
        (200.0, "d2 d1 d0"),
    ],
)
def test_ids_of_ties_ascend_for_low_scores_and_descend_for_high_ones(score: float, ids: str) -> None:
    assert order(as_read(tied(score, 3))) == ids.split()
    # Pairs descend from 32 on.
    assert order(as_read(tied(score, 2))) == (["d0", "d1"] if score < 32 else ["d1", "d0"])


@pytest.mark.parametrize("lowest", [0.5, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
def test_scores_are_those_that_a_loop_over_the_hits_of_a_query_prints(lowest: float) -> None:
    random = np.random.default_rng(7)
    runs = []
    for query in range(40):
        # Few different values: exact ties, ties by rounding, and chains of steps of about 1e-4.
        values = lowest * (1 + random.random(12)) + 1e-4 * random.integers(0, 3, (4, 12)) + 3e-5 * random.random((4, 12))
        score = random.choice(values.ravel().astype(np.float32), 30 + query)
        runs.append(pd.DataFrame({"query_id": f"q{query}", "doc_id": [f"d{i}" for i in range(len(score))], "score": score}))
    run = pd.concat(runs).sample(frac=1, random_state=1)
    found, expected = as_read(run), anserini_run.of_ours(run)
    for query_id, hits in found.groupby("query_id"):
        assert list(hits["doc_id"]) == [doc_id for doc_id, _ in expected[str(query_id)]]
        assert hits["score"].tolist() == [np.float32(score) for _, score in expected[str(query_id)]]
    assert (found.groupby("query_id")["score"].diff().dropna() <= 0).all()
