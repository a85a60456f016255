"""Which queries are shown."""

import numpy as np
from beirflow.analysis.shown_queries import DIFFERENT, SHOWN, WORST, choose_queries


def test_of_a_small_dataset_all_queries_are_shown_the_worst_first() -> None:
    sample = choose_queries(np.array([[0.5, 0.0, 1.0], [0.5, 0.6, 1.0]]), "NDCG@10")
    assert sample.rows == [1, 0, 2]
    assert sample.described() == {"shown": 3, "of": 3, "how": "all queries"}


def test_of_a_large_one_the_worst_the_most_different_and_a_random_rest() -> None:
    scores = np.random.default_rng(0).random((2, 5000))
    sample = choose_queries(scores, "NDCG@10")
    mean, spread = scores.mean(axis=0), np.ptp(scores, axis=0)
    assert len(sample.rows) == len(set(sample.rows)) == SHOWN
    assert sample.rows == sorted(sample.rows, key=lambda row: mean[row])
    worst = set(np.argsort(mean)[:WORST].tolist())
    others = sorted(set(range(5000)) - worst, key=lambda row: -spread[row])
    assert worst | set(others[:DIFFERENT]) <= set(sample.rows)
    rest = set(sample.rows) - worst - set(others[:DIFFERENT])
    assert 0.3 < np.mean([mean[row] for row in rest]) < 0.7
    assert sample.how == (
        "the 50 worst by mean NDCG@10, then the 25 where the two systems differ most, and 25 drawn at random from the others"
    )


def test_one_system_differs_from_none() -> None:
    sample = choose_queries(np.random.default_rng(0).random((1, 500)), "NDCG@5")
    assert len(sample.rows) == SHOWN
    assert sample.how == "the 50 worst by NDCG@5, and 50 drawn at random from the others"


def test_of_many_queries_with_nothing_found_not_only_the_first_are_shown() -> None:
    rows = choose_queries(np.zeros((1, 1000)), "NDCG@10").rows
    assert len(set(rows) & set(range(WORST))) < WORST / 2
    assert rows == choose_queries(np.zeros((1, 1000)), "NDCG@10").rows


def test_a_query_that_is_bad_and_different_takes_one_place() -> None:
    half = np.arange(150) / 300
    sample = choose_queries(np.stack([0.5 - half, 0.5 + half]), "NDCG@10")
    assert len(set(sample.rows)) == SHOWN
    assert set(range(150 - DIFFERENT, 150)) <= set(sample.rows)
