"""Files in which a line is a query with its labelled documents."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import PreparedCorpus
from beirflow.data.corpus_reader import read_batches
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.prepare import Preparation, prepare_corpus
from beirflow.data.query_lists import for_reading, texts_of
from beirflow.data.sources import source as source_module
from beirflow.data.sources.forms import LabelledForm, SamplesForm
from beirflow.data.sources.labelled import LabelledSource, SamplesSource
from beirflow.data.sources.source import DatasetSource
from refusals import refused

WORDS = LabelledForm(labels=(("完全相关", 2), ("部分相关", 1), ("不相关", 0)))


def document(text: str, label: Any = None, **more: Any) -> dict[str, Any]:
    return {"title": "", "summary": text, "url": "", "result": "good", **({} if label is None else {"answer": label}), **more}


def write(path: Path, *lines: tuple[str, list[dict[str, Any]]]) -> Path:
    text = "".join(json.dumps({"query": query, "data": data}, ensure_ascii=False) + "\n" for query, data in lines)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Three queries: one with a document of every kind, one that repeats one of these, one without a relevant document."""
    return write(
        tmp_path / "judged.jsonl",
        (
            "《1984》是什么",
            [
                document("政治思想", "完全相关", id=5031622209044687985, title="《1984》介绍"),
                document("a cooking book", "不相关", id="cooking"),
                document("nobody judged this"),
            ],
        ),
        ("who cooks", [document("a cooking book", "部分相关", id="cooking"), document("without an id", "不相关")]),
        ("nothing", [document("without an id", "不相关")]),
    )


def read_source(source: DatasetSource) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str, int]]]:
    """Texts of documents and of queries by id, and judgements, as everything downstream reads them."""
    queries, qrels = read_judged_queries(source, "test")
    documents: dict[str, str] = {}
    for batch in read_batches(source):
        documents |= dict(zip(batch.documents["doc_id"].to_pylist(), batch.documents["text"].to_pylist(), strict=True))
    texts = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    return documents, texts, [tuple(row.values()) for row in qrels.to_pylist()]


def read(path: Path, form: LabelledForm = WORDS) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    documents, texts, qrels = read_source(LabelledSource(path, form))
    judgements: dict[str, dict[str, int]] = {text: {} for text in texts.values()}
    for query_id, doc_id, score in qrels:
        judgements[texts[query_id]][doc_id] = score
    return documents, texts, judgements


def test_lines_become_documents_queries_and_judgements(judged: Path) -> None:
    documents, queries, judgements = read(judged)
    by_text = {text: doc_id for doc_id, text in documents.items()}
    assert by_text.keys() == {"《1984》介绍 政治思想", "a cooking book", "nobody judged this", "without an id"}
    assert by_text["《1984》介绍 政治思想"] == "5031622209044687985"
    made = by_text["without an id"]
    assert made.startswith("d-")
    assert judgements == {"《1984》是什么": {"5031622209044687985": 2, "cooking": 0}, "who cooks": {"cooking": 1, made: 0}}
    assert all(query_id.startswith("q-") for query_id in queries)


def test_ids_depend_on_the_text_alone(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, lines = read(judged), judged.read_text(encoding="utf-8").splitlines(keepends=True)
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(reversed(lines)), encoding="utf-8")
    assert read(other) == expected
    monkeypatch.setattr(source_module, "BLOCK_BYTES", 1)
    assert read(judged) == expected


def test_fields_and_labels_are_called_as_the_form_says_and_switches_as_json_spells_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    hits = [{"_id": n, "t": None, "body": f"text {n}", "grade": grade} for n, grade in enumerate((True, False, 2))]
    path.write_text("".join(json.dumps({"q": "one", "hits": [hit]}) + "\n" for hit in hits))  # a query in several lines is one
    names = {"query": "q", "documents": "hits", "id": "_id", "title": "t", "text": "body", "label": "grade"}
    documents, queries, judgements = read(path, LabelledForm(**names, labels=(("true", 1), ("false", 0), ("2", 3))))
    assert (documents, list(queries.values())) == ({str(n): f"text {n}" for n in range(3)}, ["one"])
    assert judgements == {"one": {"0": 1, "1": 0, "2": 3}}
    with refused(DataError, "known are integers"):
        read(path, LabelledForm(**names))
    path.write_text(
        "".join(
            f'{{"q": "one", "hits": [{{"_id": {n}, "body": "{n}", "grade": {label}}}]}}\n'
            for n, label in enumerate(("2.0", '"3"', "1"))
        )
    )
    assert read(path, LabelledForm(**names))[2] == {"one": {"0": 2, "1": 3, "2": 1}}  # without labels, scores as anywhere


REFUSED: Mapping[str, tuple[list[tuple[str, list[dict[str, Any]]]] | str, list[str]]] = {
    "a list": ('["query"]', [":2: expected a JSON object with 'query' and 'data', found ['query']"]),
    "an object for documents": ('{"query": "a", "data": {"id": 1}}', [":2: 'data' must be a list of objects"]),
    "a cut line": ('{"query": "a", "data": [', [":2: ", "is the file truncated?"]),
    "equal ids with different texts": (
        [("a", [document("one", "完全相关", id=1)]), ("b", [document("two", "完全相关", id="1")])],
        [":2: ", "'1' has another title or text than in line 1"],
    ),
    "two labels": (
        [("a", [document("one", "完全相关", id=1)]), ("a", [document("one", "不相关", id=1)])],
        [":2: ", "has the score 0 here and 2 in line 1"],
    ),
    "an unknown label": ([("a", [document("one", "相关")])], [":1: ", "'相关'", "'完全相关', '部分相关', '不相关'", "'labels'"]),
    "a number among words": ([("a", [document("one", 1)])], [":1: ", "is 1, known are '完全相关'"]),
    "a fraction among words": ([("a", [document("one", 2.0)])], [":1: ", "is 2.0, known are '完全相关'"]),
    "no text": (
        [("a", [{"title": "only", "answer": "完全相关"}])],
        [":1: of a document: 'summary' is missing; keys here: title, answer; fields are named in 'fields'"],
    ),
    "a list for a title": ([("a", [document("one", title=["t"])])], ["of a document: 'title' must be a string, found ['t']"]),
    "a fraction for an id": ([("a", [document("one", id=1.5)])], ["of a document: 'id' must be", "found 1.5"]),
    "an empty id": ([("a", [document("one", id="")])], ["of a document: 'id' must be", "found ''"]),
    "an empty query": ([(" ", [document("one", "完全相关")])], [":1: 'query' must be a text, found ' '", "'fields'"]),
    "nothing relevant": ([("a", [document("one", "不相关")])], ["no query has a relevant document"]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    lines, parts = REFUSED[what]
    path = tmp_path / "bad.jsonl"
    if isinstance(lines, str):
        path.write_text(f"\n{lines}\n")
    else:
        write(path, *lines)
    with refused(DataError, str(path), *parts):
        read(path)


def test_a_corpus_is_prepared_and_its_record_says_what_was_assumed(judged: Path, tmp_path: Path) -> None:
    form = {"kind": "labelled", "labels": [["完全相关", 2], ["部分相关", 1], ["不相关", 0]]}
    prepare_corpus(
        source_path=str(judged),
        settings=Preparation(None, "test", 2, {"documents": 4, "queries": None, "files": {}}, form),
        corpus=PreparedCorpus(str(tmp_path / "documents.parquet"), str(tmp_path / "queries.parquet")),
        job=Job(tmp_path, "prepare_corpus/in"),
    )
    record = read_json(tmp_path / "corpus.json")
    counts = ("documents", "distinct_texts", "queries", "judgements", "positives", "judgements_without_document", "characters")
    assert record["counts"] == dict(zip(counts, (4, 4, 2, 4, 2, 0, 58), strict=True))
    assert list(record["source_sha256"]) == ["judged.jsonl"]
    assert record["assumed"] == {
        "ids_of_queries": "from their texts",
        "documents_without_id": 3,
        "documents_without_label": 1,
        "labels": {"完全相关": 2, "部分相关": 1, "不相关": 0},
        "queries_without_relevant_documents": 1,
    }
    assert pq.read_metadata(tmp_path / "documents.parquet").num_row_groups == 2


def write_samples(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def sample(query: Any, positive: Any = ("a",), negative: Any = ("b",)) -> dict[str, Any]:
    return {"query": query, "positive": positive, "negative": negative}


SAMPLES = [
    sample("one", ["a", "same"], ["b", "same"]),
    sample("nothing relevant", [], ["b"]),
    sample("nothing else", ["a"], []),
    {**sample("one"), "more": 1},
]


def test_every_sample_has_candidates_of_its_own(tmp_path: Path) -> None:
    source = SamplesSource(write_samples(tmp_path / "s.jsonl", *SAMPLES), SamplesForm())
    documents, queries, qrels = read_source(source)
    assert queries == {"s1": "one", "s4": "one"}
    found = sorted((query, documents[doc_id], grade) for query, doc_id, grade in qrels)
    assert found == [("s1", "a", 1), ("s1", "b", 0), ("s1", "same", 0), ("s1", "same", 1), ("s4", "a", 1), ("s4", "b", 0)]
    assert all(doc_id.startswith(f"{query}-") for query, doc_id, _ in qrels)
    assert len(documents) == len(qrels)
    assert source.assumed == {"ids": "from lines and texts", "samples_without_relevant_or_other_documents": 2}
    assert list(source.digests) == ["s.jsonl"]


def test_ids_do_not_tell_what_is_relevant(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", *(sample("q", [f"p{i}"], [f"n{i}"]) for i in range(200)))
    grades: dict[str, list[int]] = {}
    for query, _, grade in read_source(SamplesSource(path, SamplesForm()))[2]:  # in byte order of the ids
        grades.setdefault(query, []).append(grade)
    assert 60 < sum(first for first, _ in grades.values()) < 140


LISTS = SamplesForm(query_lists="averaged")


def test_a_list_of_texts_is_one_query_that_is_taken_apart_again(tmp_path: Path) -> None:
    texts = ["first; text", "second", "second"]
    queries = read_source(SamplesSource(write_samples(tmp_path / "s.jsonl", *map(sample, (texts, "one", ["two"]))), LISTS))[1]
    assert [texts_of(query) for query in queries.values()] == [texts, ["one"], ["two"]]
    assert for_reading(queries["s1"]) == "first; text; second; second"


@pytest.mark.parametrize(
    ("form", "line", "part"),
    [
        (SamplesForm(), sample(["a", "b"]), "'query' is a list of 2 texts; set 'query_lists: averaged'"),
        (SamplesForm(), sample(""), "'query' must be a text, found ''"),
        (SamplesForm(), sample("q", "a"), "'positive' must be a list of texts, found 'a'"),
        (SamplesForm(), {"query": "q", "positive": ["a"]}, "'negative' is missing; keys here: query, positive"),
        (LISTS, sample(["a", " "]), "'query' must be a text or a list of texts"),
        (LISTS, sample(["a", "b \ufdd1 c"]), "'query' has the character U+FDD1"),
    ],
)
def test_what_is_no_sample_is_refused_with_its_line(tmp_path: Path, form: SamplesForm, line: dict[str, Any], part: str) -> None:
    path = write_samples(tmp_path / "s.jsonl", SAMPLES[0], line)
    with pytest.raises(DataError) as caught:
        read_source(SamplesSource(path, form))
    assert str(caught.value).startswith(f"{path}:2: {part}")
