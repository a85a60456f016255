"""Reading a corpus once."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beir_writer import write_corpus_record, write_documents
from beirflow.data.corpus_reader import DOCUMENTS
from beirflow.data.document_text import as_read, document_text, joined_text
from beirflow.report.analysis import document_scan
from beirflow.report.analysis.document_scan import SNIPPET, beginning, document_batches, scan_documents, texts_of
from beirflow.report.pages import TEMPLATES

CHUNKS = [["a b c d", "a b", ""], ["x " * 300, "one"]]


def test_lengths_and_beginnings_of_what_is_asked_for(tmp_path: Path) -> None:
    path = write_documents(tmp_path / "documents.parquet", CHUNKS)
    write_corpus_record(tmp_path)
    groups = [pa.chunked_array([["d0", "d3"], ["d0", "stranger"]]), pa.chunked_array([pa.array([], pa.string())])]
    texts, lengths = scan_documents(str(path), ["d4", "d1", "d4", "stranger"], groups)
    assert texts == {"d1": {"title": "", "text": "a b"}, "d4": {"title": "", "text": "one"}}
    every, first, second = lengths
    assert (every["n"], every["mean"]) == (5, (4 + 2 + 0 + 300 + 1) / 5)
    assert (first["n"], first["mean"]) == (3, (4 + 300 + 4) / 3)
    assert second["n"] == 0
    batches = [[batch.num_rows for batch in document_batches(str(path), ["text"], rows=rows)] for rows in (1, 2, 100)]
    assert batches == [[1] * 5, [2, 1, 2], [3, 2]]


def test_titles_stand_apart_and_texts_are_whole_while_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, long = tmp_path / "documents.parquet", "word " * 200
    rows = [["d0", "d1", "d2"], [f"Ünder a\n title {long}", "A title", long], [len("Ünder a\n title".encode()), 7, 0]]
    pq.write_table(pa.table(rows, schema=DOCUMENTS), path)
    write_corpus_record(tmp_path)
    texts, _ = scan_documents(str(path), ["d0", "d1", "d2"], [])
    assert texts["d0"] == {"title": "Ünder a title", "text": long.strip()}
    assert texts["d1"] == {"title": "A title", "text": ""}
    monkeypatch.setattr(document_scan, "ROOM", 3 * 500)
    texts, _ = scan_documents(str(path), ["d0", "d1", "d2"], [])
    assert texts["d2"] == {"title": "", "text": "word " * 99 + "word…"}
    monkeypatch.setattr(document_scan, "ROOM", 3)
    assert len(scan_documents(str(path), ["d0", "d1", "d2"], [])[0]["d2"]["text"]) > SNIPPET - 6


def test_a_short_text_is_whole_and_a_long_one_is_cut_at_a_word_if_it_has_several() -> None:
    assert beginning(" a\n\n b\tc ") == "a b c"
    assert beginning("x" * SNIPPET) == "x" * SNIPPET
    assert beginning("x" * 1000) == "x" * (SNIPPET - 1) + "…"
    text = "word " * 100
    found = beginning(text)
    assert len(found) <= SNIPPET
    assert found.endswith("word…")
    assert text.startswith(found[:-1])


def test_the_page_shows_as_much_at_first() -> None:
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    assert re.findall(r"const SNIPPET = (\d+);", script) == [str(SNIPPET)]


def test_texts_are_those_of_the_source_with_one_space_behind_a_title(tmp_path: Path) -> None:
    source = [("A title", "and its text"), ("", "a text alone"), ("A title", " text behind a space"), ("A title alone", "")]
    titles, texts = zip(*source, strict=True)
    joined = list(map(joined_text, titles, texts))
    columns = [["d0", "d1", "d2", "d3"], joined, [len(title.encode()) for title in titles]]
    pq.write_table(pa.table(columns, schema=DOCUMENTS), tmp_path / "documents.parquet")
    write_corpus_record(tmp_path)
    found = texts_of(str(tmp_path / "documents.parquet"), {"d0", "d1", "d2", "d3"})
    assert [found[f"d{number}"] for number in range(4)] == source
    # As in the reranker's and the encoder's texts.
    stored = pa.table({"doc_id": columns[0], "text": joined})
    assert [document_text(*found[doc_id]) for doc_id in columns[0]] == as_read(stored)["text"].to_pylist()
