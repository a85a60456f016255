"""Reading a corpus once."""

from pathlib import Path

import pyarrow as pa
import pytest
from beir_writer import write_corpus_record, write_documents
from beirflow.analysis import document_scan
from beirflow.analysis.document_scan import SNIPPET, scan_documents, snippet

CHUNKS = [["a b c d", "a b", ""], ["x " * 300, "one"]]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_lengths_and_beginnings_of_what_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(document_scan, "ROWS", rows)
    path = write_documents(tmp_path / "documents.parquet", CHUNKS)
    write_corpus_record(tmp_path)
    groups = [pa.chunked_array([["d0", "d3"], ["d0", "stranger"]]), pa.chunked_array([pa.array([], pa.string())])]
    texts, lengths = scan_documents(str(path), ["d4", "d1", "d4", "stranger"], groups)
    assert texts == {"d1": "a b", "d4": "one"}
    every, first, second = lengths
    assert (every["n"], every["mean"]) == (5, (4 + 2 + 0 + 300 + 1) / 5)
    assert (first["n"], first["mean"]) == (3, (4 + 300 + 4) / 3)
    assert second["n"] == 0


def test_a_short_text_is_shown_whole_with_single_spaces() -> None:
    assert snippet(" a\n\n b\tc ") == "a b c"
    assert snippet("x" * SNIPPET) == "x" * SNIPPET


def test_a_long_text_is_cut_at_a_word() -> None:
    text = "word " * 100
    found = snippet(text)
    assert len(found) <= SNIPPET
    assert found.endswith("word…")
    assert text.startswith(found[:-1])


def test_a_text_that_is_one_word_is_cut_inside_it() -> None:
    assert snippet("x" * 1000) == "x" * (SNIPPET - 1) + "…"
