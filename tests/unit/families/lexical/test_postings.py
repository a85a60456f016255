"""Postings: what is in them, on disk the same bytes for the same content, and nothing else is read."""

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucene_reference
import steps
from beirflow.core.errors import DataError
from beirflow.core.layout import POSTINGS
from beirflow.core.records import Job
from beirflow.families.lexical import indexing, statistics
from beirflow.families.lexical.indexing import index_texts
from beirflow.families.lexical.postings import POSTING_COLUMNS, ChunkPostings, Postings
from beirflow.families.postings.names import ENGLISH
from beirflow.ranking.searched import places_of

TITLES = ["Cats and dogs", "", " \x00", "Only a title", "Cat", "\u00a0"]
TEXTS = ["A cat is no dog.", "dogs dogs cats", "", " \n", "the", "\u3000"]


def indexed(titles: list[str] = TITLES, texts: list[str] = TEXTS, threads: int = 1) -> Postings:
    return index_texts([(pa.array(titles, pa.string()), pa.array(texts, pa.string()))], threads)


def written(folder: Path, content: Postings) -> ChunkPostings:
    """The postings in a file with its record."""
    path = folder / POSTINGS(analyzer=ENGLISH, dataset="small", chunk=0)
    steps.write_recorded(ChunkPostings, path, (content, ENGLISH), Job(folder), inputs={})
    return ChunkPostings(path)


def equal(one: Postings, other: Postings) -> bool:
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Postings)]
    return all(a.equals(b) if isinstance(a, pa.Array) else a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def test_each_posting_counts_title_and_text_apart() -> None:
    found = indexed()
    expected = []
    for row, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True)):
        counts = [Counter(lucene_reference.analyze(part)) for part in (title, text)]
        expected += [(term, row, *(count[term] for count in counts)) for term in set().union(*counts)]
    terms = np.repeat(found.terms.to_pylist(), found.frequencies)
    columns = (terms, found.rows, found.title_counts, found.text_counts)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == sorted(expected)


def test_lengths_and_what_java_takes_for_white_space_and_titles_without_text_are_not_counted() -> None:
    found = indexed()
    assert found.title_lengths.tolist() == [2, 0, 0, 2, 1, 0]
    assert found.text_lengths.tolist() == [2, 3, 0, 0, 0, 0]
    assert found.title_filled.tolist() == [True, False, False, True, True, True]
    assert found.text_filled.tolist() == [True, True, False, False, True, True]
    counted = dict(zip(found.terms.to_pylist(), found.title_frequencies.tolist(), strict=True))
    assert counted == {"cat": 2, "dog": 1, "onli": 0, "titl": 0}


@pytest.mark.parametrize("batch_bytes", [1, 30, 1 << 24])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, batch_bytes: int, threads: int) -> None:
    expected = indexed()
    monkeypatch.setattr(indexing, "BATCH_BYTES", batch_bytes)
    assert equal(indexed(threads=threads), expected)


def test_what_is_written_is_read_and_equal_content_makes_equal_bytes(tmp_path: Path) -> None:
    one, two = (written(tmp_path / name, indexed()) for name in ("one", "two"))
    assert one.path.read_bytes() == two.path.read_bytes()
    assert equal(one.read(ENGLISH), indexed())
    assert len(written(tmp_path / "none", index_texts([])).read(ENGLISH).rows) == 0
    without = {name: np.empty(0, np.int32) for name in POSTING_COLUMNS}
    assert equal(one.read(ENGLISH, postings=False), replace(indexed(), **without))
    with pytest.raises(DataError, match="cannot be read"):
        one.read("lucene-hindi")


@pytest.mark.parametrize(
    ("column", "values"),
    [("rows", [0, 1, 9, 0, 1, 4, 3, 3]), ("rows", [0, 1, 2]), ("frequencies", [1, 1, 1, 1]), ("frequencies", [0, 3, 1, 2])],
)
def test_columns_that_do_not_fit_together_are_refused(tmp_path: Path, column: str, values: list[int]) -> None:
    with pytest.raises(DataError, match="found"):
        written(tmp_path, replace(indexed(), **{column: np.array(values, np.int32)})).read(ENGLISH)


@given(st.sets(st.text("ab\u00e9\U00010000", max_size=3)), st.sets(st.text("ab\u00e9\U00010000", max_size=3)))
def test_a_few_terms_are_found_where_all_are_looked_at(wanted: set[str], there: set[str]) -> None:
    terms = pa.array(sorted(wanted), pa.large_string())
    among = pa.array(sorted(there, key=str.encode), pa.large_string())
    with patch.object(statistics, "BISECTED", 0):
        assert statistics.places_in_order(terms, among).tolist() == places_of(terms, among).tolist()


def test_a_word_is_counted_as_often_as_it_stands_there() -> None:
    found = indexed([""], ["x " * 70_000])
    assert found.text_counts.tolist() == [70_000]
    assert found.text_counts.dtype == np.uint32


def test_counts_that_do_not_fit_beside_their_keys_are_sorted_too() -> None:
    keys, counts, position = np.array([1 << 32 | 7, 5], np.uint64), np.array([9, 8], np.uint32), np.array([1 << 61, 0], np.uint64)
    for more in (0, 1 << 62):
        found = indexing._sort(position + np.uint64(more), [keys], [counts])
        assert [each.tolist() for each in found] == [[more + 7, more + (1 << 61) + 5], [9, 8]]
