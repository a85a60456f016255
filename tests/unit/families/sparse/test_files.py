"""Rows of weights: equal texts have equal ones; whatever is written comes back, and what was damaged is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from beirflow.core.errors import DataError, ModelError
from beirflow.core.writing import DigestingWriter
from beirflow.families.postings.columns import ColumnWriter
from beirflow.families.sparse import files
from beirflow.families.sparse.files import ChunkWeights, QueryWeights, Rows, quantized, read_queries, read_segments
from beirflow.families.texts import in_rows
from tiny_sparse import spread

DOCUMENTS, TERMS = 60, 40


def random_rows(seed: int = 0, documents: int = DOCUMENTS, terms: int = TERMS) -> Rows:
    """Weights with many equal ones; some documents have none."""
    random = np.random.default_rng(seed)
    there = random.random((documents, terms)) < 0.2
    there[[3, documents - 1]] = False
    text, term = there.nonzero()
    return Rows.of(documents, text, term, random.choice([0.5, 1.0, 1.7], len(text)).astype(np.float32))


def cut(rows: Rows, size: int) -> Iterator[Rows]:
    for first in range(0, len(rows.counts), size):
        part = slice(rows.starts[first], rows.starts[min(first + size, len(rows.counts))])
        yield Rows(rows.counts[first : first + size], rows.terms[part], rows.weights[part])


def written(path: Path, rows: Rows, quantize: str = "none", at_once: int = DOCUMENTS) -> Path:
    with DigestingWriter(path) as stream:
        ChunkWeights.write(stream, (cut(rows, at_once), quantize))
    return path


@pytest.mark.parametrize("size", [1, 20, 1 << 22])
@pytest.mark.parametrize("quantize", ["none", "lucene"])
def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, quantize: str) -> None:
    monkeypatch.setattr(files, "SEGMENT_POSTINGS", size)
    rows = quantized(random_rows(), quantize)
    path = written(tmp_path / "w.arrow", rows, quantize)
    for at_once in (1, 7):
        assert written(tmp_path / "again.arrow", rows, quantize, at_once).read_bytes() == path.read_bytes()
    segments = list(read_segments(path, quantize))
    found = np.zeros((DOCUMENTS, TERMS), np.float32)
    starts = np.cumsum([0, *(segment.documents for segment in segments)])
    for segment, start in zip(segments, starts, strict=False):
        found[start + segment.rows.astype(np.int64), np.repeat(segment.terms, np.diff(segment.starts))] = segment.weights
    assert np.array_equal(found, spread(rows, TERMS))
    assert sum(segment.documents for segment in segments) == DOCUMENTS
    assert all(segment.weights.dtype == files.STORED[quantize] for segment in segments)
    assert (len(segments) == 1) == (size == 1 << 22)
    assert size != 20 or max(len(segment.rows) for segment in segments) <= 20


def test_a_segment_has_no_more_documents_than_short_numbers_count(tmp_path: Path) -> None:
    documents = 2 * files.SEGMENT_DOCUMENTS + 3
    rows = Rows(np.ones(documents, np.int64), np.arange(documents, dtype=np.int32) % 7, np.ones(documents, np.float32))
    contents = {written(tmp_path / f"{n}.arrow", rows, at_once=n).read_bytes() for n in (30_000, documents)}
    assert len(contents) == 1
    segments = list(read_segments(tmp_path / f"{documents}.arrow", "none"))
    assert [segment.documents for segment in segments] == [files.SEGMENT_DOCUMENTS, files.SEGMENT_DOCUMENTS, 3]
    first = 0
    for segment in segments:
        terms = np.repeat(segment.terms, np.diff(segment.starts))
        assert np.array_equal(np.sort(segment.rows), np.arange(segment.documents))
        assert ((first + segment.rows.astype(np.int64)) % 7 == terms).all()
        first += segment.documents


def test_large_vocabularies_and_no_weights_at_all(tmp_path: Path) -> None:
    nothing = Rows(np.zeros(3, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    (segment,) = read_segments(written(tmp_path / "none.arrow", nothing), "none")
    assert (segment.documents, len(segment.terms), len(segment.rows)) == (3, 0, 0)
    many = Rows.of(2, np.array([0, 1, 1]), np.array([250_000, 1, 250_000]), np.ones(3, np.float32))
    (segment,) = read_segments(written(tmp_path / "large.arrow", many), "none")
    assert segment.terms.tolist() == [1, 250_000]
    assert segment.rows.tolist() == [1, 0, 1]


def test_integers_are_those_of_lucene() -> None:
    weights = np.array([5, 0.01, 0.009, 2.5, 1.234, 0.0488, 0.029296875], np.float32)
    rows = Rows(np.array([len(weights)]), np.arange(len(weights), dtype=np.int32), weights)
    found = quantized(rows, "lucene")
    kept = {term: round(float(weight) / 5 * 256) for term, weight in enumerate(weights)}
    assert dict(zip(found.terms.tolist(), found.weights.tolist(), strict=True)) == {t: w for t, w in kept.items() if w}
    assert quantized(rows, "none") is rows


def test_a_weight_that_is_no_short_integer_is_refused(tmp_path: Path) -> None:
    rows = Rows(np.array([1]), np.array([0], np.int32), np.array([70_000], np.float32))
    with pytest.raises(ModelError, match="quantize: none"):
        written(tmp_path / "w.arrow", rows, "lucene")


def test_queries_come_back(tmp_path: Path) -> None:
    rows = random_rows(1)
    with DigestingWriter(tmp_path / "q.arrow") as stream:
        QueryWeights.write(stream, ([rows], "none"))
    for found, each in zip(read_queries(tmp_path / "q.arrow", "none"), rows, strict=True):
        assert np.array_equal(found, each)
    with pytest.raises(DataError, match="cannot be read"):
        read_queries(tmp_path / "q.arrow", "lucene")
    with pytest.raises(DataError, match="cannot be read"):
        list(read_segments(tmp_path / "q.arrow", "none"))


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        *(("weights", [1.0, wrong], "not above 0") for wrong in (-1.0, np.inf, np.nan)),
        ("weights", [1.0], "1 weights"),
        ("rows", [0, 7], "row 7 among 2 documents"),
        ("rows", [65_535, 1], "row 65535 among"),
        ("frequencies", [0, 2], "terms without documents"),
        ("frequencies", [1, 2], "frequencies of 3"),
    ],
)
def test_postings_that_do_not_fit_together_are_refused(tmp_path: Path, column: str, values: list[float], says: str) -> None:
    columns = {"documents": np.array([2]), "rows": np.array([0, 1], np.uint16), "weights": np.ones(2, np.float32)}
    columns |= {"terms": np.array([4, 9], np.int32), "frequencies": np.ones(2, np.int32)}
    columns[column] = np.array(values, columns[column].dtype)
    path = tmp_path / "w.arrow"
    with path.open("wb") as sink, ColumnWriter(sink, {"format": files.FORMAT, "what": "postings", "quantize": "none"}) as writer:
        writer.write(columns)
    with pytest.raises(DataError, match=says):
        list(read_segments(path, "none"))


def test_a_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "w.arrow", random_rows())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="cannot be read"):
        list(read_segments(path, "none"))


@pytest.mark.parametrize("window", [1, 2, 100])
@pytest.mark.parametrize("texts", ["abcdef", "abacbbdda", "aaaa", ""])
def test_every_row_has_the_weights_of_its_text_whatever_the_windows(texts: str, window: int) -> None:
    distinct = list(dict.fromkeys(texts))
    indices = np.array([distinct.index(text) for text in texts], np.int32)
    counts = np.arange(len(distinct)) % 3  # the first has none
    terms = np.concatenate([np.arange(count) + number for number, count in enumerate(counts)] or [counts]).astype(np.int32)
    rows = Rows(counts, terms, np.repeat(np.arange(len(distinct)) + np.float32(0.5), counts).astype(np.float32))
    how = {"count": lambda part: len(part.counts), "one": Rows.one, "together": Rows.together}
    found = Rows.together(list(in_rows(cut(rows, window), indices, **how)))
    assert found.counts.tolist() == counts[indices].tolist()
    assert found.terms.tolist() == [number + i for number in indices.tolist() for i in range(counts[number])]
    assert found.weights.tolist() == [number + 0.5 for number in indices.tolist() for _ in range(counts[number])]
