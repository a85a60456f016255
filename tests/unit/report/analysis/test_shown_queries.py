"""Shown queries, and the scores of all of them, for two systems side by side."""

import re

import numpy as np

from beirflow.report.analysis.shown_queries import LISTED, SHOWN, WORST, choose_queries, query_scores
from beirflow.report.pages import TEMPLATES


def test_of_a_small_dataset_all_queries_are_shown_the_worst_first() -> None:
    sample = choose_queries(np.array([[0.5, 0.0, 1.0], [0.5, 0.6, 1.0]]), "NDCG@10")
    assert sample.rows == [1, 0, 2]
    assert (sample.of, sample.how) == (3, "all queries")


def test_of_a_large_one_the_worst_those_where_one_system_leads_and_a_random_rest() -> None:
    scores = np.random.default_rng(0).random((2, 5000))
    sample = choose_queries(scores, "NDCG@10")
    mean, difference = scores.mean(axis=0), scores[0] - scores[1]
    assert len(sample.rows) == len(set(sample.rows)) == SHOWN
    assert sample.rows == sorted(sample.rows, key=lambda row: mean[row])
    chosen = {*np.argsort(mean)[:WORST].tolist(), *np.argsort(difference)[:LISTED], *np.argsort(-difference)[:LISTED]}
    assert len(chosen) == WORST + 2 * LISTED
    assert chosen <= set(sample.rows)
    assert 0.3 < np.mean([mean[row] for row in set(sample.rows) - chosen]) < 0.7
    assert sample.how == (
        "the 25 worst by mean NDCG@10, then the 20 with the largest lead of one system over the other,"
        " and 55 drawn at random from the others"
    )


def test_one_system_differs_from_none_and_not_only_the_first_of_many_equal_queries_are_shown() -> None:
    rows = choose_queries(np.zeros((1, 1000)), "NDCG@10").rows
    assert len(set(rows) & set(range(WORST))) < WORST / 2
    assert rows == choose_queries(np.zeros((1, 1000)), "NDCG@10").rows
    sample = choose_queries(np.random.default_rng(0).random((1, 500)), "NDCG@5")
    assert len(sample.rows) == SHOWN
    assert sample.how == "the 25 worst by NDCG@5, and 75 drawn at random from the others"


def test_every_score_is_kept_as_it_is() -> None:
    scores = {system: np.random.default_rng(seed).choice([0.0, 1 / 3, 0.1 + 0.2, 1.0], 50) for seed, system in enumerate("xyz")}
    ids = [f"q{number}" for number in range(50)]
    found = query_scores(ids, ids, scores, [])
    assert found["ids"] == ids
    assert found["values"] == sorted(set(np.concatenate(list(scores.values())).tolist()))
    of = {system: [found["values"][i] for i in places] for system, places in found["of"].items()}
    assert of == {system: values.tolist() for system, values in scores.items()}


def test_texts_are_kept_of_what_is_listed_and_not_shown() -> None:
    first, second = np.zeros(40), np.zeros(40)
    first[5:20], second[30] = np.linspace(0.5, 0.9, 15), 0.1
    ids, texts = [f"q{number}" for number in range(40)], [f"text {number} " * 60 for number in range(40)]
    found = query_scores(ids, texts, {"x": first, "y": second}, [19, 7])["texts"]
    assert list(found) == [*(f"q{number}" for number in range(10, 19)), "q30"]
    assert found["q30"].startswith("text 30 text 30")
    assert found["q30"].endswith("…")
    assert len(found["q30"]) <= 240


def test_the_page_lists_as_many() -> None:
    assert re.findall(r"const LISTED = (\d+);", (TEMPLATES / "pair.js").read_text(encoding="utf-8")) == [str(LISTED)]
