"""The fast parser and the careful one read the same, or the fast one leaves it to the careful one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beirflow.core.errors import DataError
from beirflow.data import corpus_reader as document_batches
from beirflow.data.corpus_reader import fingerprint, read_batches
from beirflow.data.document_text import as_read, join_title_and_text, split_title_and_text
from beirflow.data.sources.beir_files import Source

# Lines between what both read and what both refuse: every piece may stand where it does not belong.
PIECES = st.sampled_from(
    [
        b'{"_id": "d1", "text": "x"}',
        b'{"_id": "d2", "title": "T", "text": "\\u00e9\\n", "metadata": {"n": [1, {"a": null}]}}',
        b'{"_id": "d3", "title": null, "text": "\xe6\x97\xa5"}',
        b'{"_id": "d4", "title": 3, "text": "x"}',
        b'{"_id": "d5", "text": "x", "text": "y"}',
        b'{"_id": "d6", "text": "\\ud800"}',
        b'{"_id": "d7", "text": "\xff"}',
        b'{"_id": "", "text": "x"}',
        b'{"_id": "d8", "text": "a\tb"}',
        b'{"_id": "d9", "text": "} null"}',
        b'{"_id": "d10", "text": "x", "n": 1e999}',
        b'{"_id": "d11", "text": "\\u0000"}',
        b'{"_id": "d12", "text": "x", "other": "\xff"}',
        b'{"_id": "d13", "title": "", "text": ""}',
        *(b"{", b"}", b",", b" ", b"\r", b"\n", b'"x"', b"[]", b"null", b"\xef\xbb\xbf"),
    ]
)
LINES = st.lists(st.lists(PIECES, max_size=3).map(b"".join), max_size=6).map(b"\n".join)


def both(tmp_path: Path, content: bytes) -> list[Any]:
    """Read a block fast and with care; gives documents, None where it is left to care, or the error."""
    numbers = range(1, 1 + content.count(b"\n") + (not content.endswith(b"\n")))
    fast = document_batches._parse_fast(numbers, content)
    try:
        careful: Any = document_batches._parse_with_care(Source(tmp_path), numbers, content)
    except DataError as error:
        careful = str(error)
    return [(each[0].tolist(), each[1].to_pylist()) if isinstance(each, tuple) else each for each in (fast, careful)]


@settings(max_examples=500)
@given(content=LINES)
def test_whatever_is_read_fast_is_read_the_same_with_care(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    fast, careful = both(tmp_path_factory.getbasetemp(), content)
    assert fast is None or fast == careful


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
RECORDS = st.fixed_dictionaries(
    {"_id": TEXT.filter(bool), "text": TEXT}, optional={"title": st.none() | TEXT, "more": st.lists(TEXT)}
)
WRITERS = st.sampled_from([orjson.dumps, lambda record: json.dumps(record).encode()])
EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 2), st.integers(0, 255)), max_size=3)


@settings(max_examples=200)
@given(records=st.lists(RECORDS, min_size=1, max_size=5), write=WRITERS, edits=EDITS)
def test_any_line_however_it_is_damaged_means_one_thing_or_is_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, Any]],
    write: Callable[[Any], bytes],
    edits: list[tuple[int, int, int]],
) -> None:
    """Bytes are changed, put in or taken out."""
    content = bytearray(b"\n".join(map(write, records)))
    for place, kind, byte in edits:
        start = place % (len(content) + 1)
        content[start : start + (kind != 1)] = bytes([byte]) * (kind != 2)
    fast, careful = both(tmp_path_factory.getbasetemp(), bytes(content))
    assert fast is None or fast == careful
    if not edits:
        texts = [f"{record['title']} {record['text']}" if record.get("title") else record["text"] for record in records]
        titles = [len((record.get("title") or "").encode()) for record in records]
        rows = zip([record["_id"] for record in records], texts, titles, strict=True)
        expected = [dict(zip(("doc_id", "text", "title_bytes"), row, strict=True)) for row in rows]
        assert careful == (list(range(1, len(records) + 1)), expected)


@pytest.mark.parametrize("length", [1, document_batches.BRACKETS, 10**7])
def test_an_ordinary_block_is_read_fast_however_long_its_lines_are(tmp_path: Path, length: int) -> None:
    lines = [{"_id": f"d{i}", "title": "日本" * (i % 2), "text": f"text {i}", "metadata": {"url": "x"}} for i in range(50)]
    lines[2]["text"] = "y" * length
    content = b"\n".join(map(orjson.dumps, lines)) + b"\n"
    fast, careful = both(tmp_path, content)
    assert fast == careful
    assert fast[0] == list(range(1, 51))
    assert fast[1][0] == {"doc_id": "d0", "text": "text 0", "title_bytes": 0}
    assert fast[1][1] == {"doc_id": "d1", "text": "日本 text 1", "title_bytes": 6}
    (tmp_path / "corpus.jsonl").write_bytes(content)
    batches = list(read_batches(Source(tmp_path), threads=2))
    assert [row for batch in batches for row in batch.documents.to_pylist()] == fast[1]
    assert [count for batch in batches for count in batch.characters][:3] == [6, 9, length]


@pytest.mark.parametrize("opening", ["[", '{"a":', " [ "])
def test_a_line_of_brackets_is_an_error_and_no_crash(tmp_path: Path, opening: str) -> None:
    line = '{"_id": "d1", "text": "x", "metadata": ' + opening * 10**6
    (tmp_path / "corpus.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"corpus\.jsonl:1: expected a JSON object"):
        list(read_batches(Source(tmp_path), threads=1))


@pytest.mark.parametrize("depth", [10, 500, 990, 1010, 5000, 10**5])
def test_brackets_are_read_fast_only_where_they_cannot_nest_too_deep(tmp_path: Path, depth: int) -> None:
    deep = b'{"_id": "d1", "text": "x", "metadata": ' + b"[" * depth + b"]" * depth + b"}"
    flat = b'{"_id": "d1", "text": "x", "metadata": [' + b"[]," * depth + b"0]}"
    for line in (deep, flat):
        fast, careful = both(tmp_path, line)
        assert (fast is None) == (depth > document_batches.BRACKETS - 2)
        assert fast in (None, careful)


JOINED = [("T", "x", "T x"), (None, "x", "x"), ("", "x", "x"), ("T", "", "T "), (" ", "x", "  x"), ("", "", "")]


@pytest.mark.parametrize("others", [[], [("U", "y")], [(None, "y")], [("", "y")]])
def test_title_and_text_are_joined_by_a_space_where_there_is_a_title(others: list[tuple[str | None, str]]) -> None:
    for title, text, joined in JOINED:
        titles, texts = (pa.array(column, pa.large_string()) for column in zip((title, text), *others, strict=True))
        assert join_title_and_text(titles, texts)[0].as_py() == joined


@given(pairs=st.lists(st.tuples(st.none() | TEXT, TEXT), max_size=8), start=st.integers(0, 3))
def test_titles_and_texts_are_split_as_they_were_joined(pairs: list[tuple[str | None, str]], start: int) -> None:
    """Whole arrays and slices, as they are read from a file."""
    titles, texts = (pa.array([pair[i] for pair in pairs], pa.large_string()) for i in range(2))
    title_bytes = np.array([len((title or "").encode()) for title, _ in pairs], np.int32)
    found = split_title_and_text(join_title_and_text(titles, texts).slice(start), title_bytes[start:])
    assert found[0].to_pylist() == [title or "" for title, _ in pairs[start:]]
    assert found[1].to_pylist() == [f" {text}" if title else text for title, text in pairs[start:]]
    for array in found:
        array.validate(full=True)


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=20), copies=st.integers(1, 3))
def test_equal_texts_have_equal_fingerprints_wherever_they_stand(texts: list[str], copies: int) -> None:
    array = pa.array([*texts * copies, "end"], pa.large_string())
    numbers = fingerprint(array)
    assert numbers.dtype == np.uint64
    assert (numbers[: len(texts) * copies].reshape(copies, -1) == numbers[: len(texts)]).all()
    np.testing.assert_array_equal(fingerprint(array.slice(1)), numbers[1:])


def test_texts_that_differ_in_length_or_in_their_first_bytes_have_different_fingerprints() -> None:
    texts = ["", "\0", "\0\0", "a", "b", "ab", "abcdefgh", "abcdefghi", "bbcdefghi", "x" * 100, "x" * 101]
    assert len(set(fingerprint(pa.array(texts, pa.large_string())).tolist())) == len(texts)


@pytest.mark.parametrize("separator", [None, " [SEP] ", "\n"])
def test_models_read_documents_without_white_space_at_their_ends_as_from_beir(separator: str | None) -> None:
    """The beir package and MTEB hand (title + " " + text).strip() over, and tokenizers of bytes read a line feed as a token."""
    every = "".join(chr(code) for code in range(0x110000) if chr(code).isspace())
    titles, texts = (
        ["Title", "", " T", "only a title", " ", "é "],
        ["text\n", "\tno  title ", f"x\ny{every}", "", f"{every}z", " "],
    )
    joined = join_title_and_text(pa.array(titles, pa.large_string()), pa.array(texts, pa.large_string()))
    title_bytes = [len(title.encode()) for title in titles]
    found = as_read(pa.table({"doc_id": list("abcdef"), "text": joined, "title_bytes": title_bytes}), separator)
    assert found.column_names == ["doc_id", "text"]
    pairs = zip(titles, texts, strict=True)
    assert found["text"].to_pylist() == [f"{title}{separator or ' '}{text}".strip() for title, text in pairs]
