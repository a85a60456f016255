"""Places of the same texts in another corpus are those that a comparison of all with all finds."""

import logging
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import Chunks, match_corpora, write_corpus_record, write_documents
from beirflow.core.digests import file_digest
from beirflow.data import matching as shared_texts


def match(folder: Path, mine: Chunks, other: Chunks) -> list[list[tuple[int, int]]]:
    for name, chunks in (("b", mine), ("a", other)):
        write_corpus_record(write_documents(folder / name / "documents.parquet", chunks, name).parent)
    match_corpora(folder / "b", folder / "a")
    with pq.ParquetFile(folder / "b/shared.parquet") as file:
        tables = [file.read_row_group(chunk) for chunk in range(file.metadata.num_row_groups)]
    return [list(zip(table["chunk"].to_pylist(), table["row"].to_pylist(), strict=True)) for table in tables]


def brute_force(mine: Chunks, other: Chunks) -> list[list[tuple[int, int]]]:
    places = [(text, (chunk, row)) for chunk, texts in enumerate(other) for row, text in enumerate(texts)]
    return [[next((place for known, place in places if known == text), (-1, -1)) for text in texts] for texts in mine]


TEXT = st.one_of(st.text("ab\0 é𝄞", max_size=3), st.text(max_size=5))
CHUNKS = st.lists(st.lists(TEXT, max_size=6), min_size=1, max_size=4)


@given(mine=CHUNKS, other=CHUNKS)
def test_every_text_is_found_at_its_first_place(tmp_path_factory: pytest.TempPathFactory, mine: Chunks, other: Chunks) -> None:
    assert match(tmp_path_factory.mktemp("pair"), mine, other) == brute_force(mine, other)


def test_what_was_compared_is_recorded_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    contents = []
    with caplog.at_level(logging.INFO, logger="beirflow"):
        for _ in range(2):
            match(tmp_path, [["x", "y"], ["z"]], [["z", "x"]])
            contents.append((tmp_path / "b/shared.parquet").read_bytes())
    assert contents[0] == contents[1]
    assert "a has the texts of 2 of the 3 documents of b" in caplog.text
    assert "compare texts: 5 of 5 texts" in caplog.text
    schema = pq.read_schema(tmp_path / "b/shared.parquet")
    names = {b"documents": "b", b"other": "a"}
    expected = {key: file_digest(tmp_path / name / "documents.parquet").encode() for key, name in names.items()}
    assert {key: schema.metadata[key] for key in names} == expected
    assert [(field.name, field.type) for field in schema] == [("chunk", pa.int32()), ("row", pa.int32())]


def test_memory_is_some_tens_of_bytes_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_texts, "BATCH_DOCUMENTS", 1000)
    count = 50_000
    rng = np.random.default_rng(0)
    texts = [bytes(row).hex() for row in rng.integers(0, 256, (count, 60), dtype=np.uint8)]
    for name in ("a", "b"):
        write_corpus_record(write_documents(tmp_path / name / "documents.parquet", [texts[::2], texts[1::2]]).parent)
    tracemalloc.start()
    match_corpora(tmp_path / "a", tmp_path / "b")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A Python string of such a text alone takes 169 bytes.
    assert peak < 100 * count
