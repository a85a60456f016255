"""Vectors of tokens are read as they were written, whatever the segments, and a file that does not fit together is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.errors import DataError
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.vectors import TokenVectors, in_rows, read_segments
from token_vectors import random_vectors, written


@given(data=st.data(), size=st.sampled_from([1, 6, 25, 1 << 17]), at_once=st.integers(1, 20))
def test_rows_have_the_vectors_of_their_texts(
    data: st.DataObject, size: int, at_once: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    counts = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=20))
    again = data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=10))
    texts = random_vectors(np.random.default_rng(len(counts)), counts, dim=4)
    indices = np.array([*range(len(counts)), *again])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "SEGMENT_TOKENS", size)
        path = written(texts, indices, tmp_path_factory.mktemp("v") / "v.arrow", at_once)
        once = written(texts, indices, path.with_name("once.arrow"))
    found = in_rows(read_segments(path), len(indices))
    expected = texts.take(indices)
    assert np.array_equal(found.counts, expected.counts)
    assert np.array_equal(found.vectors, expected.vectors)
    sizes = [len(segment.texts.vectors) for segment in read_segments(path)]
    assert max(sizes) <= max(size, *counts)
    assert path.read_bytes() == once.read_bytes()


def test_missing_rows_and_a_file_of_something_else_are_noticed(tmp_path: Path) -> None:
    path = written(random_vectors(np.random.default_rng(0), [2, 3]), [0, 1], tmp_path / "v.arrow")
    with pytest.raises(ValueError, match="found 2 rows, expected 3"):
        in_rows(read_segments(path), 3)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="the token vectors cannot be read"):
        list(read_segments(path))


@pytest.mark.parametrize(
    ("texts", "indices", "problem"),
    [
        (TokenVectors(np.array([1]), np.full((1, 4), -1.1, np.float16)), [0], "vectors that are not of length 1"),
        (TokenVectors(np.array([1]), np.full((1, 4), np.nan, np.float16)), [0], "vectors that are not of length 1"),
        (TokenVectors(np.array([1, 0]), np.zeros((1, 4), np.float16)), [0, 1], "found 1 vectors, but counts of 1"),
        (TokenVectors(np.array([1, 1]), np.zeros((2, 4), np.float16)), [0, 7], "found 1 rows that have other texts|rows"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, texts: TokenVectors, indices: list[int], problem: str) -> None:
    with pytest.raises((DataError, ValueError), match=problem):
        in_rows(read_segments(written(texts, indices, tmp_path / "v.arrow")), len(indices))
