"""The sample: its size, and the errors that it finds, beside simulation."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from beirflow.extensions.verify.draw import chance_to_miss, draw, hidden_error, queries_needed

DOCUMENTS = np.array([f"d{i}" for i in range(1000)], object)
QUERIES = [f"q{i}" for i in range(100)]
RELEVANT = {query: [f"d{i}"] for i, query in enumerate(QUERIES)}
AROUND = {query: [*RELEVANT[query], *(f"d{10 * i + j}" for j in range(10))] for i, query in enumerate(QUERIES)}


@pytest.mark.parametrize("share", [0.001, 0.05, 0.1, 0.5, 1.0])
def test_a_sample_has_its_share_of_documents_and_one_whole_query_at_least(share: float) -> None:
    sample = draw(np.random.default_rng(1), QUERIES, DOCUMENTS, RELEVANT, AROUND, share)
    assert len(set(sample.pool)) == len(sample.pool) <= max(share * 1000, 12)
    assert {each for query in sample.queries for each in RELEVANT[query]} <= {*sample.pool}
    assert {each for query in sample.queries[: sample.whole] for each in AROUND[query]} <= {*sample.pool}
    assert 1 <= sample.whole <= len(sample.queries)
    if share == 1.0:
        assert (len(sample.pool), sample.whole) == (1000, 100)


def test_every_query_is_drawn_alike_often_and_the_seed_decides() -> None:
    counted = dict.fromkeys(QUERIES, 0)
    for seed in range(400):
        for query in draw(np.random.default_rng(seed), QUERIES, DOCUMENTS, RELEVANT, AROUND, 0.05).queries:
            counted[query] += 1
    assert max(counted.values()) < 2 * min(counted.values())
    one, other = (draw(np.random.default_rng(7), QUERIES, DOCUMENTS, RELEVANT, AROUND, 0.05) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(("queries", "checked", "wrong"), [(323, 30, 2), (323, 290, 2), (1000, 500, 7), (50, 50, 1), (50, 0, 3)])
def test_the_chance_to_miss_is_scipys(queries: int, checked: int, wrong: int) -> None:
    assert chance_to_miss(queries, checked, wrong) == pytest.approx(hypergeom.pmf(0, queries, wrong, checked), abs=1e-12)


def test_an_error_beyond_the_hidden_one_is_found_in_99_of_100_samples() -> None:
    """The worst forgery: the highest values are wrong altogether."""
    random = np.random.default_rng(5)
    values = random.beta(0.5, 0.5, 500)
    hidden = hidden_error(values, 150)
    worst = np.argsort(values)[::-1]
    wrong = worst[: 1 + int((np.cumsum(values[worst]) / 500 <= hidden + 1e-12).sum())]
    found = sum(bool(np.isin(random.choice(500, 150, replace=False), wrong).any()) for _ in range(4000))
    assert found >= 0.985 * 4000
    assert hidden_error(values, 500) == 0


@pytest.mark.parametrize("margin", [0.005, 0.02, 0.1])
def test_the_needed_queries_are_the_fewest(margin: float) -> None:
    values = np.random.default_rng(2).random(300)
    needed = queries_needed(values, margin)
    assert hidden_error(values, needed) < margin <= hidden_error(values, needed - 1)
