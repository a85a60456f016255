"""The scores of all queries, for two systems side by side."""

import re

import numpy as np
from beirflow.analysis.query_scores import LISTED, ahead, query_scores
from beirflow.report.pages import TEMPLATES


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


def test_of_equal_leads_those_come_first_that_are_shown() -> None:
    unseen = np.ones(20, bool)
    unseen[[18, 3]] = False
    assert ahead(np.ones(20), np.zeros(20), unseen) == [3, 18, 0, 1, 2, 4, 5, 6, 7, 8]
    assert ahead(np.zeros(20), np.zeros(20), unseen) == []


def test_the_page_lists_as_many() -> None:
    assert re.findall(r"const LISTED = (\d+);", (TEMPLATES / "pair.js").read_text(encoding="utf-8")) == [str(LISTED)]
