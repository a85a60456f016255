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
from beirflow.families.lexical import LexicalSettings, postings, search
from beirflow.families.lexical.bm25 import FieldStatistics
from beirflow.families.lexical.indexing import index_texts
from beirflow.families.lexical.postings import ChunkPostings, open_postings
from beirflow.families.lexical.queries import analyze_queries, weigh
from beirflow.families.lexical.search import search_postings
from beirflow.families.lexical.statistics import CorpusStatistics, Frequencies, Statistics, add_up
from beirflow.families.postings import search as lists_search
from beirflow.families.postings.names import ENGLISH
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


def analyzed(corpus: list[Document], folder: Path, chunk: int) -> tuple[list[Path], CorpusStatistics]:
    """The postings of each chunk, and the statistics of all."""
    paths = []
    for start in range(0, len(corpus), chunk):
        _, titles, texts = zip(*corpus[start : start + chunk], strict=True)
        paths.append(folder / f"{start}.arrow")
        steps.write(ChunkPostings, paths[-1], (index_texts([(pa.array(titles), pa.array(texts))]), ENGLISH))
    table, counts = add_up(open_postings(path, ENGLISH).head for path in paths)
    steps.write(Statistics, folder / "terms.parquet", table)
    return paths, counts


def searched(
    corpus: list[Document],
    queries: list[str],
    system: LexicalSettings = FLAT,
    k: int = 1000,
    chunk: int = 1000,
    own: list[str] | None = None,
    threads: int = 1,
) -> tuple[list[list[tuple[str, float]]], int]:
    """For each query the ids and scores of its hits, as chunk by chunk and merged; and how many self matches were dropped."""
    ids = pa.array([doc_id for doc_id, *_ in corpus])
    parts, self_matches = [], 0
    with TemporaryDirectory() as folder:
        paths, counted = analyzed(corpus, Path(folder), chunk)
        asked = analyze_queries(pa.array(queries, pa.string()), system.bm25)
        table = Path(folder) / "terms.parquet"
        fields = weigh(asked, system.bm25, counted, Frequencies(table, [*system.fields]).of(asked.terms))
        for i, path in enumerate(paths):
            in_chunk = ids[i * chunk : (i + 1) * chunk]
            places = {doc_id: row for row, doc_id in enumerate(in_chunk.to_pylist())}
            excluded = np.array([places.get(doc_id, -1) for doc_id in own or [None] * len(queries)])
            cut = Cut(k, byte_order(in_chunk, system.ties), excluded)
            (query, row, score), dropped = search_postings(asked, fields, open_postings(path, ENGLISH), cut, threads=threads)
            assert (query.dtype, row.dtype, score.dtype) == (np.int32, np.int32, np.float32)
            parts.append((query, row + i * chunk, score))
            self_matches += dropped
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
def test_statistics_are_lucenes(tmp_path: Path, name: str) -> None:
    corpus = [(document["_id"], document["title"], document["text"]) for document in GOLDEN["corpus"]]
    _, found = analyzed(corpus, tmp_path, 5)
    expected = GOLDEN[name]["stats"]
    field = "contents" if name == "flat" else "text"
    assert found.fields[field] == FieldStatistics(expected["contents.docCount"], expected["contents.sumTotalTermFreq"])
    assert found.documents - (found.without_contents if name == "flat" else found.without_text) == expected["docs"]
    if name == "multifield":
        assert found.fields["title"] == FieldStatistics(expected["title.docCount"], expected["title.sumTotalTermFreq"])


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
def test_chunks_order_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, system: LexicalSettings) -> None:
    corpus = random_corpus(60, seed=1)
    queries = [" ".join(document[2].split()[:5]) for document in random_corpus(10, seed=2)]
    expected = plainly(corpus, queries, system, k=20)
    assert searched(corpus, queries, system, k=20)[0] == expected
    assert searched(corpus[::-1], queries, system, k=20, chunk=7)[0] == expected
    of_lists = (lists_search, "SLICE_QUERIES", 1), (lists_search, "SAMPLED", 1), (lists_search, "SURE", -4.0)
    of_blocks = (search, "BLOCK_POSTINGS", 100), (search, "SLICE_POSTINGS", 10), (postings, "PART_POSTINGS", 30)
    for module, name, value in (*of_blocks, *of_lists):
        monkeypatch.setattr(module, name, value)
        assert searched(corpus, queries, system, k=20, chunk=25, threads=3)[0] == expected
