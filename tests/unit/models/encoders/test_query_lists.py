"""Queries that are lists of texts: the mean of their vectors, in order, whatever the windows."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest

from beirflow.data.document_text import Kind
from beirflow.data.query_lists import as_query
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.encoders import query_lists
from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.query_lists import windows_of


class Lengths:
    """An encoder whose vectors are the lengths of texts, in windows of two."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[np.ndarray]:
        self.given += texts
        for start in range(0, len(texts), 2):
            if "bad" in texts[start : start + 2]:
                raise NotFiniteError(start + texts[start : start + 2].index("bad"))
            yield np.array([[len(text), 1] for text in texts[start : start + 2]], np.float32)


def queries(*lists: list[str]) -> list[str]:
    return [cast("str", as_query(each)) for each in lists]


def vectors(texts: Sequence[str], kind: Kind = "queries") -> list[Any]:
    found = list(windows_of(cast("Encoder", Lengths()), texts, kind))
    assert all(each.dtype == np.float32 for each in found)
    return np.concatenate(found).tolist()


@pytest.mark.parametrize("window", [1, 2, 4096])
def test_a_list_has_the_mean_of_its_vectors(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_lists.TransformersEncoder, "window", window)
    found = vectors(queries(["a", "abcd"], ["ab"], ["a", "b", "abc"], ["x", "x"]))
    assert found == [[2.5, 1], [2, 1], [np.float32(5 / 3), 1], [1, 1]]


def test_texts_alone_and_documents_are_encoded_as_they_are() -> None:
    encoder = Lengths()
    assert len(list(windows_of(cast("Encoder", encoder), ["a", "", "b; c"], "queries"))) == 2
    assert encoder.given == ["a", "", "b; c"]
    [text] = queries(["a", "b"])
    assert vectors([text], "documents") == [[len(text), 1]]


def test_the_query_of_a_vector_that_is_not_finite_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for window in (2, 4096):
        monkeypatch.setattr(query_lists.TransformersEncoder, "window", window)
        with pytest.raises(NotFiniteError) as caught:
            vectors(queries(["a", "b"], ["c"], ["d", "e"], ["f", "bad", "g"], ["h"]))
        assert caught.value.row == 3
