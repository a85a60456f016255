"""Counts of a corpus."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beir_writer import SCHEMA, write_corpus_record, write_documents
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data.document_text import joined_text
from beirflow.extensions.beir_paper.statistics import WordCounter, _scan, count_corpus, read_words, write_words


def count(folder: Path, *, changed: bool = False) -> dict[str, Any]:
    paths = {name: folder / f"{name}.parquet" for name in ("documents", "queries", "qrels", "words")}
    write_documents(paths["documents"], [["a b c d", "a b", ""], ["x " * 300, "one"]])
    pq.write_table(pa.table({"query_id": ["q0", "q1"], "text": ["two words", "and three words"]}), paths["queries"])
    judgements = {"query_id": ["q0", "q0", "q1", "q1"], "doc_id": ["d0", "gone", "d3", "d1"]}
    qrels = pa.table({**judgements, "score": pa.array([2, 1, 0, 1], pa.int32())})
    pq.write_table(qrels, paths["qrels"])
    write_corpus_record(folder, split="test")
    if changed:
        pq.write_table(qrels.slice(1), paths["qrels"])
    paths |= {"corpus": folder / "corpus.json", "statistics": folder / "words.json"}
    named = {f"{name}_path": str(path) for name, path in paths.items()}
    count_corpus(dataset="toy", **named, job=Job(folder, "count_corpus/toy"))
    return read_json(folder / "words.json")


def test_documents_queries_and_judgements_are_counted(tmp_path: Path) -> None:
    found = count(tmp_path)
    expected = {"documents": 5, "titles": 0, "without_text": 0, "queries": 2, "judgements": 4, "relevant": 3, "query_words": 5}
    assert found["counts"] == expected | {"document_words": 4 + 2 + 0 + 300 + 1, "words": 307, "different_words": 6}
    assert found["grades"] == {"0": 1, "1": 2, "2": 1}
    parts = [part.to_pydict() for _, part in read_words(tmp_path / "words.parquet")]
    words = {word: n for part in parts for word, n in zip(*part.values(), strict=True)}
    assert words == {"a": 2, "b": 2, "c": 1, "d": 1, "one": 1, "x": 300}
    # Lengths of judged documents are by grade, without those of documents that are not there.
    lengths = {name: (each["n"], each["mean"]) for name, each in found["lengths"].items()}
    assert lengths == {"all": (5, 307 / 5), "0": (1, 300.0), "1": (1, 2.0), "2": (1, 4.0)}


def test_judgements_that_were_changed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="qrels"):
        count(tmp_path, changed=True)


TEXTS = ["The cell, the CELL and the cell's wall", "", " … — ", "Straße straße ÉCOLE école 42 4.2 naïve_naïve"]
TEXTS += ["日本語 のテキスト cell", "zebra z " * 50]


def plain(texts: list[str]) -> dict[str, int]:
    return dict(Counter(word for text in texts for word in re.split(r"[\W_]+", text.lower()) if word))


@pytest.mark.parametrize("most", [1, 7, 1 << 20])
def test_counts_are_those_of_a_plain_implementation(tmp_path: Path, most: int) -> None:
    counter = WordCounter(most)
    for start in range(0, 3 * len(TEXTS), 2):
        counter.add(pa.array((3 * TEXTS)[start : start + 2], pa.large_string()))
    totals = write_words(tmp_path / "words.parquet", counter)
    found = [(first, part.to_pydict()) for first, part in read_words(tmp_path / "words.parquet")]
    words = [word for _, part in found for word in part["word"]]
    counted = dict(zip(words, (count for _, part in found for count in part["count"]), strict=True))
    assert counted == plain(3 * TEXTS)
    assert totals == {"words": sum(counted.values()), "different_words": len(counted)}
    assert all(one.encode() < other.encode() for one, other in pairwise(words))
    assert all(word.encode()[0] == first for first, part in found for word in part["word"])


def test_a_corpus_without_words_has_no_counts(tmp_path: Path) -> None:
    counter = WordCounter()
    counter.add(pa.array(["", "…"], pa.large_string()))
    assert write_words(tmp_path / "words.parquet", counter) == {"words": 0, "different_words": 0}
    assert list(read_words(tmp_path / "words.parquet")) == []


def test_documents_with_a_title_alone_are_counted(tmp_path: Path) -> None:
    titles = ["Only a title", "A title", "", " ends in space ", "", "  ", "", "Title"]
    texts = ["", "and a text", "", " \n", " \t", " ", "text alone", "\u3000"]
    joined = list(map(joined_text, titles, texts))
    (tmp_path / "corpus.json").unlink(missing_ok=True)
    count(tmp_path)
    table = pa.table([[f"d{i}" for i in range(len(titles))], joined, [len(title) for title in titles]], schema=SCHEMA)
    pq.write_table(table, tmp_path / "documents.parquet")
    write_corpus_record(tmp_path, split="test")
    counted = _scan(str(tmp_path / "documents.parquet"), pa.array([], pa.string()), WordCounter())[2]
    alone = [title for title, text in zip(titles, texts, strict=True) if title.strip() and not text.strip()]
    assert len(alone) == 3  # documents without a title and a text are empty
    assert counted == {"titles": 5, "without_text": len(alone)}
