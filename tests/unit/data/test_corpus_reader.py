"""Documents are read as their lines have them, and joined with their titles as other libraries do."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.errors import DataError
from beirflow.data.corpus_reader import read_batches
from beirflow.data.document_text import as_read, joined_text, split_title_and_text
from beirflow.data.sources.beir_files import Source

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
RECORDS = st.fixed_dictionaries(
    {"_id": TEXT.filter(bool), "text": TEXT}, optional={"title": st.none() | TEXT, "more": st.lists(TEXT)}
)
EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 2), st.integers(0, 255)), max_size=3)


def expected(content: bytes) -> list[tuple[int, str, str, int]] | None:
    """Number, id, text and bytes of the title of each line that is not blank; None if one is no document."""
    rows = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                record = orjson.loads(line)
                doc_id, title, text = record["_id"], record.get("title"), record["text"]
            except (ValueError, KeyError, TypeError):
                return None
            doc_id = str(doc_id) if type(doc_id) is int else doc_id
            if not (isinstance(doc_id, str) and doc_id and isinstance(text, str) and isinstance(title, str | None)):
                return None
            rows.append((number, doc_id, f"{title} {text}" if title else text, len((title or "").encode())))
    return rows


@given(records=st.lists(RECORDS, min_size=1, max_size=5), edits=EDITS)
def test_any_line_however_it_is_damaged_is_a_document_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], edits: list[tuple[int, int, int]]
) -> None:
    """Bytes are changed, put in or taken out."""
    content = bytearray(b"\n".join(map(orjson.dumps, records)))
    for place, kind, byte in edits:
        start = place % (len(content) + 1)
        content[start : start + (kind != 1)] = bytes([byte]) * (kind != 2)
    folder = tmp_path_factory.getbasetemp()
    (folder / "corpus.jsonl").write_bytes(content)
    if (rows := expected(bytes(content).removeprefix(b"\xef\xbb\xbf"))) is None:
        with pytest.raises(DataError, match=r"corpus\.jsonl:\d+: "):
            list(read_batches(Source(folder)))
        return
    batches = list(read_batches(Source(folder)))
    found = [row for batch in batches for row in zip(batch.lines.tolist(), *batch.documents.to_pydict().values(), strict=True)]
    assert found == rows
    measured = [row for each in batches for row in zip(each.characters.tolist(), each.sizes.tolist(), strict=True)]
    assert measured == [(len(text), len(text.encode())) for _, _, text, _ in rows]


def test_equal_texts_have_equal_fingerprints(tmp_path: Path) -> None:
    lines = [{"_id": "a", "title": "T", "text": "x"}, {"_id": "b", "text": "T x"}, {"_id": "c", "title": "T ", "text": "x"}]
    (tmp_path / "corpus.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    [batch] = read_batches(Source(tmp_path))
    one, same, other = batch.fingerprints.tolist()
    assert one == same != other


def test_title_and_text_are_joined_by_a_space_where_there_is_a_title() -> None:
    joined = [("T", "x", "T x"), (None, "x", "x"), ("", "x", "x"), ("T", "", "T "), (" ", "x", "  x"), ("", "", "")]
    assert [joined_text(title, text) for title, text, _ in joined] == [expected for *_, expected in joined]


@given(pairs=st.lists(st.tuples(st.none() | TEXT, TEXT), max_size=8), start=st.integers(0, 3))
def test_titles_and_texts_are_split_as_they_were_joined(pairs: list[tuple[str | None, str]], start: int) -> None:
    """Whole arrays and slices, as they are read from a file."""
    title_bytes = np.array([len((title or "").encode()) for title, _ in pairs], np.int32)
    joined = pa.array([joined_text(*pair) for pair in pairs], pa.large_string())
    found = split_title_and_text(joined.slice(start), title_bytes[start:])
    assert found[0].to_pylist() == [title or "" for title, _ in pairs[start:]]
    assert found[1].to_pylist() == [f" {text}" if title else text for title, text in pairs[start:]]
    for array in found:
        array.validate(full=True)


@pytest.mark.parametrize("separator", [None, " [SEP] ", "\n"])
def test_models_read_documents_without_white_space_at_their_ends_as_from_beir(separator: str | None) -> None:
    """The beir package and MTEB hand (title + " " + text).strip() over, and tokenizers of bytes read a line feed as a token."""
    every = "".join(chr(code) for code in range(0x110000) if chr(code).isspace())
    titles = ["Title", "", " T", "only a title", " ", "é "]
    texts = ["text\n", "\tno  title ", f"x\ny{every}", "", f"{every}z", " "]
    joined = pa.array(map(joined_text, titles, texts), pa.large_string())
    title_bytes = [len(title.encode()) for title in titles]
    found = as_read(pa.table({"doc_id": list("abcdef"), "text": joined, "title_bytes": title_bytes}), separator)
    assert found.column_names == ["doc_id", "text"]
    pairs = zip(titles, texts, strict=True)
    assert found["text"].to_pylist() == [f"{title}{separator or ' '}{text}".strip() for title, text in pairs]
