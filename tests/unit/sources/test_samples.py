"""Files in which a line is a query with the documents that it ranks."""

import json
from pathlib import Path
from typing import Any

import pytest
from beirflow.datasets.corpus_reader import read_batches
from beirflow.datasets.judged_queries import read_judged_queries
from beirflow.files.errors import DataError
from beirflow.sources.forms import SamplesForm
from beirflow.sources.query_lists import for_reading, texts_of
from beirflow.sources.samples import SamplesSource

SAMPLES: list[dict[str, Any]] = [
    {"query": "one", "positive": ["a", "same"], "negative": ["b", "same"]},
    {"query": "nothing relevant", "positive": [], "negative": ["b"]},
    {"query": "nothing else", "positive": ["a"], "negative": []},
    {"query": "one", "positive": ["a"], "negative": ["b"], "more": 1},
]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(
    path: Path, form: SamplesForm | None = None
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str, int]], SamplesSource]:
    source = SamplesSource(path, form or SamplesForm())
    queries, qrels = read_judged_queries(source, "test")
    documents: dict[str, str] = {}
    for batch in read_batches(source, threads=1):
        documents |= dict(zip(batch.documents["doc_id"].to_pylist(), batch.documents["text"].to_pylist(), strict=True))
    texts = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    return documents, texts, [tuple(row.values()) for row in qrels.to_pylist()], source


def test_every_sample_has_candidates_of_its_own(tmp_path: Path) -> None:
    documents, queries, qrels, source = read(write(tmp_path / "s.jsonl", SAMPLES))
    assert queries == {"s1": "one", "s4": "one"}
    found = sorted((query, documents[doc_id], grade) for query, doc_id, grade in qrels)
    assert found == [("s1", "a", 1), ("s1", "b", 0), ("s1", "same", 0), ("s1", "same", 1), ("s4", "a", 1), ("s4", "b", 0)]
    assert all(doc_id.startswith(f"{query}-") for query, doc_id, _ in qrels)
    assert len(documents) == len(qrels)
    assert source.assumed == {"ids": "from lines and texts", "samples_without_relevant_or_other_documents": 2}
    assert list(source.digests) == ["s.jsonl"]


def test_ids_do_not_tell_what_is_relevant(tmp_path: Path) -> None:
    lines = [{"query": "q", "positive": [f"p{i}"], "negative": [f"n{i}"]} for i in range(200)]
    _, _, qrels, _ = read(write(tmp_path / "s.jsonl", lines))
    grades: dict[str, list[int]] = {}
    for query, _, grade in qrels:  # in byte order of the ids
        grades.setdefault(query, []).append(grade)
    assert 60 < sum(first for first, _ in grades.values()) < 140


def test_fields_are_called_as_the_form_says(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [{"q": "one", "pos": ["a"], "neg": ["b"]}])
    assert len(read(path, SamplesForm("q", "pos", "neg"))[0]) == 2


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (
            {"query": ["a", "b"], "positive": ["a"], "negative": ["b"]},
            "'query' is a list of 2 texts; set 'query_lists: averaged'",
        ),
        ({"query": "", "positive": ["a"], "negative": ["b"]}, "'query' must be a text, found ''"),
        ({"query": "q", "positive": "a", "negative": ["b"]}, "'positive' must be a list of texts, found 'a'"),
        ({"query": "q", "positive": ["a"]}, "'negative' must be a list of texts, found None"),
        ({"query": "q", "positive": ["a"], "negative": [1]}, "'negative' must be a list of texts, found [1]"),
    ],
)
def test_what_is_no_sample_is_refused_with_its_line(tmp_path: Path, line: dict[str, Any], part: str) -> None:
    path = write(tmp_path / "s.jsonl", [SAMPLES[0], line])
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert part in str(caught.value)


def test_a_list_of_texts_is_one_query_that_is_taken_apart_again(tmp_path: Path) -> None:
    texts = ["first; text", "second", "second"]
    path = write(
        tmp_path / "s.jsonl", [{"query": query, "positive": ["a"], "negative": ["b"]} for query in (texts, "one", ["two"])]
    )
    queries = read(path, SamplesForm(query_lists="averaged"))[1]
    assert [texts_of(query) for query in queries.values()] == [texts, ["one"], ["two"]]
    assert for_reading(queries["s1"]) == "first; text; second; second"


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ([], "must be a text or a list of texts, found \\[\\]"),
        (["a", " "], "must be a text or a list of texts"),
        (["a", 1], "must be a text or a list of texts"),
        (["a", "b \ufdd1 c"], "has the character U\\+FDD1"),
        ("b \ufdd1 c", "has the character U\\+FDD1"),
    ],
)
def test_a_list_that_is_no_query_is_refused_with_its_line(tmp_path: Path, query: list[Any], part: str) -> None:
    path = write(tmp_path / "s.jsonl", [SAMPLES[0], {"query": query, "positive": ["a"], "negative": ["b"]}])
    with pytest.raises(DataError, match=f"s.jsonl:2: 'query' {part}"):
        read(path, SamplesForm(query_lists="averaged"))
