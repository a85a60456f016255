"""Runs as Anserini writes them, beside a loop over hits, trec_eval, and what float32 can hold."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytrec_eval

import anserini_run
from beirflow.ranking.anserini_run import HITS, as_written


def written(run: pd.DataFrame, self_matches: Mapping[str, float] | None = None) -> pd.DataFrame:
    table = pa.table({name: pa.array(run[name]) for name in ("query_id", "doc_id", "score")})
    return as_written(table, self_matches or {}).to_pandas()


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


RANGES = {1: (2, 3, 5, 10), 8: (2, 3, 5, 9.6), 16: (2, 2, 3, 6), 32: (1, 2, 2, 3), 64: (1, 1, 2, 2), 128: (1, 1, 1, 2)}
"""By the lowest score of a range that ends at 8 or its double, how many printed scores differ in a group of 2, 3, 5, 10 ties."""


@pytest.mark.parametrize("lowest", RANGES)
@pytest.mark.parametrize("number", [2, 3, 5, 10])
def test_tied_scores_differ_as_far_as_float32_and_six_decimals_can_hold_them(lowest: int, number: int) -> None:
    random, highest = np.random.default_rng(lowest), 8 if lowest == 1 else 2 * lowest
    scores = random.uniform(lowest, highest, 200).astype(np.float32)
    ids = [f"d{i}" for i in range(number)]
    run = pd.DataFrame({"query_id": np.repeat([f"q{i:03}" for i in range(200)], number), "doc_id": ids * 200})
    run["score"] = scores.repeat(number)
    found = written(run.sample(frac=1, random_state=1))
    different = []
    for query, hits in found.groupby("query_id"):
        assert list(hits["doc_id"]) == ids
        printed = anserini_run.as_printed(run["score"][run["query_id"] == query].tolist())
        assert hits["score"].tolist() == [np.float32(score) for score in printed]
        different.append(len(set(printed)))
        if query < "q010":  # trec_eval ranks them as we rank what was read
            assert order(hits) == list(hits.sort_values(["score", "doc_id"], ascending=False)["doc_id"])
    expected = RANGES[lowest][(2, 3, 5, 10).index(number)]
    assert np.mean(different) == pytest.approx(expected, abs=0.45), np.unique(different, return_counts=True)


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
    assert order(written(tied(score, 3))) == ids.split()
    # Pairs descend from 32 on.
    assert order(written(tied(score, 2))) == (["d0", "d1"] if score < 32 else ["d1", "d0"])


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
    found, expected = written(run), anserini_run.of_ours(run)
    for query_id, hits in found.groupby("query_id"):
        assert list(hits["doc_id"]) == [doc_id for doc_id, _ in expected[str(query_id)]]
        assert hits["score"].tolist() == [np.float32(score) for _, score in expected[str(query_id)]]
    assert (found.groupby("query_id")["score"].diff().dropna() <= 0).all()


def test_the_self_match_counts_for_cut_and_ties_and_is_removed_after_them() -> None:
    hits = pd.DataFrame({"query_id": "d5", "doc_id": [f"d{i}" for i in range(10, 10 + HITS)], "score": np.float32(2)})
    run = pd.concat([hits, tied(3, 2)])
    alone, found = written(run), written(run, {"d5": 2.0, "q": 3.0})
    of_query = found[found["query_id"] == "d5"]
    # Among ids in byte order, d5 is in the middle: the last is cut, those behind it are lowered once more, and ranks have no gap.
    kept = sorted([*hits["doc_id"], "d5"])[:HITS]
    assert list(of_query["doc_id"]) == [doc_id for doc_id in kept if doc_id != "d5"]
    assert list(of_query["rank"]) == list(range(1, HITS))
    printed = dict(zip(kept, anserini_run.as_printed([2.0] * HITS), strict=True))
    assert of_query["score"].tolist() == [np.float32(printed[doc_id]) for doc_id in of_query["doc_id"]]
    assert len(alone) == HITS + 2 == len(found) + 1
    assert len(written(run[:0])) == 0
