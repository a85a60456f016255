"""The steps of a lexical system, one by one: the run is Lucene's, whatever the chunks, and its record names its inputs."""

import json
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

import lucene_reference
from beirflow.core.layout import POSTINGS, POSTINGS_RECORD, RUN_RECORD, STATISTICS_RECORD
from beirflow.core.records import read_json, write_json
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.fields import Index
from lexical_results import LexicalResults, refused, rows_of
from lucene_reference import Document
from run_results import ranked

GOLDEN = json.loads((Path(__file__).parents[3] / "data/lucene_golden.json").read_text(encoding="utf-8"))["mini"]
GOLDEN_CORPUS: list[Document] = [(document["_id"], document["title"], document["text"]) for document in GOLDEN["corpus"]]
GOLDEN_QUERIES: dict[str, str] = {query["_id"]: query["text"] for query in GOLDEN["queries"]}

FLAT, MULTIFIELD = LexicalSettings("bm25"), LexicalSettings("bm25-multifield", fields=("title", "text"))


def random_corpus(seed: int = 1, documents: int = 40) -> list[Document]:
    """Documents with many equal texts, so that ties are everywhere, some without title, text or both; ids of other scripts."""
    random = Random(seed)
    vocabulary = ["cats", "running", "U.S.", "caf\u00e9", "the", "\u6771\u4eac", *(f"w{i}" for i in range(12))]
    texts = ["", " ", *(" ".join(random.choices(vocabulary, k=random.randrange(1, 30))) for _ in range(10))]
    titles = ["", "", "the", "cat", "w1 w2", "caf\u00e9s of \u6771"]
    ids = [random.choice(["d", "D", "\u00e9", "\U00010000"]) + str(i) for i in range(documents)]
    return [(doc_id, random.choice(titles), random.choice(texts)) for doc_id in ids]


CORPUS = random_corpus()
QUERIES_OF_CORPUS = {"q1": "running cat w1", "q2": "w1 w1 w2 \u6771\u4eac", "q10": "the of", CORPUS[5][0]: CORPUS[5][2] + " w3"}


@pytest.fixture(scope="module")
def small_once(tmp_path_factory: pytest.TempPathFactory) -> LexicalResults:
    """Three chunks, indexed; nothing is searched yet."""
    return LexicalResults(tmp_path_factory.mktemp("small"), CORPUS, QUERIES_OF_CORPUS, size=17, top_k=8).index_all()


@pytest.fixture
def small(small_once: LexicalResults, tmp_path: Path) -> LexicalResults:
    """The same, to be changed."""
    return small_once.copied(tmp_path)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(("name", "system"), [("flat", FLAT), ("multifield", MULTIFIELD)])
def test_the_run_is_lucenes_in_every_bit_and_ranked_as_runs_are(
    tmp_path: Path, name: str, system: LexicalSettings, size: int
) -> None:
    made = LexicalResults(tmp_path, GOLDEN_CORPUS, GOLDEN_QUERIES, size=size).index_all()
    hits = {query: GOLDEN[name]["run"].get(query, []) for query in GOLDEN_QUERIES}
    expected = ranked({query: {doc_id: float(np.float32(score)) for doc_id, score in found} for query, found in hits.items()})
    assert rows_of(made.run(system, drop=False)) == expected


def test_records_count_empty_texts(small: LexicalResults) -> None:
    statistics = small.record(STATISTICS_RECORD)
    blank = [not text.strip() for *_, text in CORPUS]
    neither = [not (title + text).strip() for _, title, text in CORPUS]
    assert statistics["counts"] == {"documents_without_contents": sum(neither), "documents_without_text": sum(blank)}
    assert 0 < sum(neither) < sum(blank)
    assert statistics["statistics"]["documents"] == len(CORPUS)
    for name, field in zip(("title", "text"), lucene_reference.build(CORPUS, ("title", "text")), strict=True):
        assert statistics["statistics"]["fields"][name] == {"documents": field.documents, "terms": field.terms}


@pytest.mark.parametrize("drop", [True, False])
def test_self_matches_are_dropped_before_the_cut_if_the_dataset_drops_them(tmp_path: Path, drop: bool) -> None:
    corpus = [("a", "", "one one"), ("b", "", "one two"), ("c", "", "one two"), ("d", "", "three")]
    queries, judgements = {"a": "one", "d": "one", "c": "one"}, {query: {"b": 1} for query in "adc"}
    made = LexicalResults(tmp_path, corpus, queries, size=2, judgements=judgements, top_k=2).index_all()
    found = {(query, doc_id) for query, doc_id, *_ in rows_of(made.run(FLAT, drop=drop))}
    both = {("d", "a"), ("d", "b")}
    assert found == both | ({("a", "b"), ("a", "c"), ("c", "a"), ("c", "b")} if drop else {(q, d) for q in "ac" for d in "ab"})
    # A document without a term of the query is no self match; one that is not among the k best is one.
    assert made.record(RUN_RECORD, system="bm25")["counts"]["self_matches_dropped"] == (2 if drop else 0)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_cut_keeps_lucenes_first_of_ties_by_default_and_ranks_descend(tmp_path: Path, size: int) -> None:
    corpus = [(doc_id, "", "one two") for doc_id in ("b", "a", "\u00e9", "d", "Z", "\U00010000", "\uffee")]
    made = LexicalResults(tmp_path, corpus, {"q": "one"}, size=size, judgements={"q": {"d": 1}}, top_k=4).index_all()
    in_bytes = ["Z", "a", "b", "d", "\u00e9", "\uffee", "\U00010000"]
    for system, kept, first in ((FLAT, in_bytes[:4], 1.0), (LexicalSettings("trec", ties="descending"), in_bytes[3:], 0.0)):
        assert [doc_id for _, doc_id, *_ in rows_of(made.run(system))] == kept[::-1]
        assert made.evaluate(system.name)["measures"]["P@1"] == first


def test_a_query_of_stop_words_or_of_unknown_words_has_no_hits_and_counts_0(tmp_path: Path) -> None:
    corpus, queries = [("a", "", "one"), ("b", "", "two three")], {"stop": "the of and", "unknown": "four", "signs": "?!"}
    for size, (more, rows) in enumerate((({"found": "one"}, [("found", "a")]), ({}, [])), 1):
        judgements = {query: {"a": 1} for query in more | queries}
        made = LexicalResults(tmp_path / str(size), corpus, more | queries, size=size, judgements=judgements).index_all()
        assert [row[:2] for row in rows_of(made.run(FLAT))] == rows
        found = made.evaluate("bm25")
        assert found["measures"]["NDCG@10"] == found["measures"]["Recall@10"] == len(more) / len(judgements)
        counts = found["counts"]
        assert (counts["queries"], counts["queries_without_results"]) == (len(judgements), len(queries))
        assert counts["retrieved"] == len(rows)


@pytest.mark.parametrize("system", [FLAT, MULTIFIELD], ids=lambda system: system.name)
@pytest.mark.parametrize("texts", [["", "", ""], ["the", "--", "\u3000"]])
def test_a_corpus_without_a_term_is_an_error_that_says_so(tmp_path: Path, texts: list[str], system: LexicalSettings) -> None:
    made = LexicalResults(tmp_path, [(str(i), "", text) for i, text in enumerate(texts)], {"q": "one"}, size=2).index_all()
    said = (
        f"none of the 3 documents has a term in {' and '.join(system.fields)}; nothing can be found; does the corpus have texts"
    )
    refused(lambda: made.search(system), tmp_path, said)


def test_the_analyzer_of_statistics_and_that_written_into_postings_are_compared(small: LexicalResults) -> None:
    """Their digests agree in both cases."""
    path = Path(small.path(STATISTICS_RECORD))
    write_json(path, read_json(path) | {"analyzer": "lucene-hindi"})
    said = f"{re.escape(str(path))}.*made from the analyzer lucene-hindi, but lucene-english is used here"
    refused(lambda: small.search(FLAT, 0), small.results, said)
    small.index(0, postings_of=Index("lucene-hindi"))
    path = Path(small.path(POSTINGS_RECORD, chunk=0))
    write_json(path, read_json(path) | {"analyzer": "lucene-english"})
    refused(small.sum, small.results, re.escape(small.path(POSTINGS, chunk=0)), "lucene-hindi", "expected .*lucene-english")
