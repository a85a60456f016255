"""Batches: no document and no query twice, every pair at most once, the same ones in whatever order the corpus is."""

from collections.abc import Sequence

import numpy as np
import pytest
from beirflow.training.pairs import Pairs
from hypothesis import given
from hypothesis import strategies as st

DOCUMENTS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=4, unique=True)),
    min_size=1,
    max_size=12,
)
"""Of each its text and its queries; some texts and many queries are those of others too."""


def pairs_of(documents: Sequence[tuple[str, str, Sequence[str]]]) -> Pairs:
    ids, texts, queries = zip(*documents, strict=True)
    counts = [len(each) for each in queries]
    places = np.repeat(np.arange(len(counts)), counts)
    return Pairs(list(ids), list(texts), places, [query for each in queries for query in each])


def named(pairs: Pairs, batches: Sequence[np.ndarray]) -> list[list[tuple[str, str]]]:
    return [[(pairs.doc_ids[pairs.documents[pair]], pairs.queries[pair]) for pair in batch] for batch in batches]


@given(DOCUMENTS, st.integers(2, 5), st.integers(0, 3), st.randoms())
def test_a_batch_has_no_text_twice_whatever_the_order_of_the_corpus(
    documents: list[tuple[str, list[str]]], size: int, seed: int, random: np.random.Generator
) -> None:
    corpus = [(f"d{i}", text, queries) for i, (text, queries) in enumerate(documents)]
    pairs = pairs_of(corpus)
    batches = pairs.batches(size, seed, 0)
    found = np.concatenate(batches) if batches else np.array([], int)
    assert len(set(found.tolist())) == len(found)
    for batch in batches:
        assert len(batch) == size
        assert len({pairs.texts[place] for place in pairs.documents[batch]}) == size
        assert len({pairs.queries[pair] for pair in batch}) == size
    random.shuffle(corpus)
    other = pairs_of(corpus)
    assert named(other, other.batches(size, seed, 0)) == named(pairs, batches)


def test_five_queries_of_many_documents_are_nearly_all_used_in_another_order_each_time() -> None:
    pairs = pairs_of([(f"d{i}", f"text {i}", [f"{i} {j}" for j in range(5)]) for i in range(300)])
    orders = [np.concatenate(pairs.batches(75, seed, epoch)) for seed, epoch in ((0, 0), (0, 1), (1, 0))]
    for order in orders:
        assert len(order) >= 18 * 75
    assert not (orders[0][:75] == orders[1][:75]).all()
    assert not (orders[0][:75] == orders[2][:75]).all()


@pytest.mark.parametrize(
    "documents",
    [[("d0", "a", ["u", "v", "w"])], [("d0", "a", ["u"]), ("d1", "a", ["v"])], [("d0", "a", ["u"]), ("d1", "b", ["u"])]],
    ids=["one document", "one text", "one query"],
)
def test_where_no_batch_can_be_made_there_is_none(documents: list[tuple[str, str, list[str]]]) -> None:
    assert pairs_of(documents).batches(2, 0, 0) == []
