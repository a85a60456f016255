"""Batches: no document and no query twice, every pair at most once, the same ones in whatever order the corpus is."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.digests import file_digest
from beirflow.core.layout import DOCUMENTS, EXPANSION, record_of
from beirflow.core.records import write_record
from beirflow.data.corpus_files import Documents, recorded_digest
from beirflow.extensions.genq.pairs import Pairs, read_pairs
from beirflow.families.expansions.files import write_expansion
from lexical_results import LexicalResults

CORPORA = st.lists(
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


@given(CORPORA, st.integers(2, 5), st.integers(0, 3), st.randoms())
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


def test_a_chunk_without_queries_and_titles_with_a_separator_are_read(tmp_path: Path) -> None:
    corpus = [(f"d{i}", f"title {i}" if i % 2 else "", f"text {i}") for i in range(6)]
    made = LexicalResults(tmp_path, corpus, {"q": "text"}, size=3)
    rows = {doc_id: [] if chunk else ["one", "two", "one"] for chunk in range(2) for doc_id in ids_of(made, chunk)}
    paths = []
    for chunk in range(2):
        ids = ids_of(made, chunk)
        paths.append(made.path(EXPANSION, expansion="x", chunk=chunk))
        write_expansion(paths[-1], "queries", [[ids, [rows[doc_id] for doc_id in ids]]])
        inputs = {made.path(DOCUMENTS): recorded_digest(made.path(DOCUMENTS))}
        outputs = {paths[-1]: file_digest(paths[-1])}
        write_record(record_of(paths[-1]), made.job("write_queries"), inputs=inputs, outputs=outputs, kind="queries")
    for separator in (None, " [SEP] "):
        pairs = read_pairs(made.path(DOCUMENTS), paths, separator, made.job("train_encoder"))
        assert pairs.doc_ids == ids_of(made, 0)
        assert pairs.queries == ["one", "two"] * 3
        assert pairs.documents.tolist() == [0, 0, 1, 1, 2, 2]
        between = separator or " "
        expected = {f"d{i}": f"title {i}{between}text {i}" if i % 2 else f"{separator or ''}text {i}".strip() for i in range(6)}
        assert pairs.texts == [expected[doc_id] for doc_id in pairs.doc_ids]


def ids_of(made: LexicalResults, chunk: int) -> list[str]:
    with Documents(made.path(DOCUMENTS)) as documents:
        return documents.read([chunk], ["doc_id"])["doc_id"].to_pylist()
