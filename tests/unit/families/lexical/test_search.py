"""Search is Lucene's: golden scores, and a plain search of every document, whatever the chunks."""

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucene_reference
import steps
from beirflow.core.errors import DataError
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.indexing import index_texts
from beirflow.families.lexical.queries import analyze_queries, weigh
from beirflow.families.lexical.search import search_postings
from beirflow.families.lexical.statistics import Frequencies, Statistics, add_up
from beirflow.families.postings import search as lists_search
from beirflow.ranking.ranking import Cut, Ties, byte_order, merge_hits
from lucene_reference import Document

GOLDEN = json.loads((Path(__file__).parents[3] / "data/lucene_golden.json").read_text(encoding="utf-8"))["mini"]
FLAT, MULTIFIELD = LexicalSettings("bm25"), LexicalSettings("bm25-multifield", fields=("title", "text"))
FIELD_SETS = [("contents",), ("title", "text"), ("text",), ("title",)]

words = st.sampled_from(["cat", "cats", "dog", "the", "U.S.", "caf\u00e9", "running", "\u6771", "x"])
texts = st.lists(words, max_size=12).map(" ".join)
corpora = st.dictionaries(
    st.text("ab1\u00e9\U00010000", min_size=1, max_size=3), st.tuples(texts, texts), min_size=1, max_size=12
)


def searched(
    corpus: list[Document],
    queries: list[str],
    system: LexicalSettings = FLAT,
    k: int = 1000,
    chunk: int = 1000,
    own: list[str] | None = None,
) -> tuple[list[list[tuple[str, float]]], int]:
    """For each query the ids and scores of its hits, as chunk by chunk and merged; and how many self matches were dropped."""
    ids = pa.array([doc_id for doc_id, *_ in corpus])
    columns = [pa.array(column) for column in list(zip(*corpus, strict=True))[1:]]
    chunks = [index_texts([tuple(column[i : i + chunk] for column in columns)]) for i in range(0, len(corpus), chunk)]
    analyzed = analyze_queries(pa.array(queries, pa.string()), system.analyzer)
    with TemporaryDirectory() as folder:
        table, counts = add_up(chunks)
        steps.write(Statistics, path := Path(folder, "terms.parquet"), table)
        frequencies = Frequencies(path, system.searched).of(analyzed.distinct)
    fields = weigh(analyzed, system.bm25, counts, frequencies)
    parts, self_matches = [], 0
    for i, postings in enumerate(chunks):
        in_chunk = ids[i * chunk : (i + 1) * chunk]
        places = {doc_id: row for row, doc_id in enumerate(in_chunk.to_pylist())}
        excluded = np.array([places.get(doc_id, -1) for doc_id in own or [None] * len(queries)])
        cut = Cut(k, byte_order(in_chunk, system.ties), excluded)
        (query, row, score), dropped = search_postings(analyzed, fields, postings, cut)
        assert (query.dtype, row.dtype, score.dtype) == (np.int32, np.int32, np.float32)
        parts.append((query, row + i * chunk, score))
        self_matches += len(dropped[0])
    query, row, score, _ = merge_hits(parts, lambda rows: byte_order(ids.take(pa.array(rows)), system.ties), k)
    names = ids.take(pa.array(row)).to_pylist()
    hits: list[list[tuple[str, float]]] = [[] for _ in queries]
    for number, name, value in zip(query.tolist(), names, score.tolist(), strict=True):
        hits[number].append((name, value))
    return hits, self_matches


def plainly(
    corpus: list[Document], queries: list[str], system: LexicalSettings = FLAT, k: int = 1000, own: list[str] | None = None
) -> list[list[tuple[str, float]]]:
    fields = lucene_reference.build(corpus, system.fields, system.k1, system.b)
    return [
        lucene_reference.search([field for field in fields if field.documents], query, k, own[i] if own else None, system.ties)
        for i, query in enumerate(queries)
    ]


def random_corpus(documents: int, seed: int) -> list[Document]:
    random = Random(seed)
    vocabulary = [f"w{int(random.paretovariate(0.7))}" for _ in range(3000)]
    lengths = [random.randrange(60) for _ in range(documents)]
    return [
        (f"d{i}", " ".join(random.sample(vocabulary, n // 9)), " ".join(random.choices(vocabulary, k=n)))
        for i, n in enumerate(lengths)
    ]


@pytest.mark.parametrize("name", ["flat", "multifield"])
def test_statistics_are_lucenes(name: str) -> None:
    columns = zip(*((document["title"], document["text"]) for document in GOLDEN["corpus"]), strict=True)
    _, found = add_up([index_texts([tuple(map(pa.array, columns))])])
    expected = GOLDEN[name]["stats"]
    for field, lucenes in {"contents": "contents"}.items() if name == "flat" else {"title": "title", "text": "contents"}.items():
        assert found.fields[field] == (expected[f"{lucenes}.docCount"], expected[f"{lucenes}.sumTotalTermFreq"])
    assert found.documents - (found.without_contents if name == "flat" else found.without_text) == expected["docs"]


@settings(max_examples=60)
@given(
    corpora,
    st.lists(texts, max_size=4),
    st.sampled_from(FIELD_SETS),
    st.sampled_from([(0.9, 0.4), (0.0, 0.4), (1.2, 0.75), (2.0, 0.0), (0.82, 1.0), (1e9, 1.0)]),
    st.integers(1, 5),
    st.sampled_from([1, 7, 1000]),
    st.booleans(),
    st.sampled_from(["ascending", "descending"]),
)
def test_any_search_finds_what_a_plain_one_finds(
    corpus: dict[str, tuple[str, str]],
    queries: list[str],
    names: tuple[str, ...],
    free: tuple[float, float],
    k: int,
    chunk: int,
    drop: bool,
    ties: Ties,
) -> None:
    documents = [(doc_id, *parts) for doc_id, parts in corpus.items()]
    system = LexicalSettings("some", *free, names, ties=ties)
    own = [documents[i % len(documents)][0] for i in range(len(queries))] if drop else None
    if not any(field.documents for field in lucene_reference.build(documents, names)):
        with pytest.raises(DataError, match="nothing can be found"):
            searched(documents, queries, system)
        return
    found, self_matches = searched(documents, queries, system, k, chunk, own)
    assert found == plainly(documents, queries, system, k, own)
    everything = plainly(documents, queries, system)
    assert self_matches == sum(own[i] in dict(hits) for i, hits in enumerate(everything)) if own else self_matches == 0


@pytest.mark.parametrize("system", [FLAT, MULTIFIELD])
def test_chunks_order_and_samples_change_nothing(monkeypatch: pytest.MonkeyPatch, system: LexicalSettings) -> None:
    corpus = random_corpus(60, seed=1)
    queries = [" ".join(document[2].split()[:5]) for document in random_corpus(10, seed=2)]
    expected = plainly(corpus, queries, system, k=20)
    assert searched(corpus, queries, system, k=20)[0] == expected
    assert searched(corpus[::-1], queries, system, k=20, chunk=7)[0] == expected
    for name, value in (("SAMPLED", 1), ("DEVIATIONS", -4.0)):
        monkeypatch.setattr(lists_search, name, value)
        assert searched(corpus, queries, system, k=20, chunk=25)[0] == expected
