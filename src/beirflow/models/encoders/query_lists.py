"""Vectors of texts, among which queries may be lists of texts."""

from collections.abc import Iterator, Sequence

import numpy as np

from beirflow.data.document_text import Kind
from beirflow.data.query_lists import texts_of
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.encoders.encoder import Encoder, TransformersEncoder


def windows_of(encoder: Encoder, texts: Sequence[str], kind: Kind) -> Iterator[np.ndarray]:
    """Encode texts a window at a time; the vector of a query that is a list is the mean of the vectors of its texts.

    Yields the vectors of the texts of a window, float32 of shape (texts, dim). Raises NotFiniteError for a vector that is not
    finite.
    """
    lists = [texts_of(text) for text in texts] if kind == "queries" else []
    if all(len(each) == 1 for each in lists):
        yield from encoder.windows(texts, kind)
        return
    for start in range(0, len(lists), TransformersEncoder.window):
        yield _means(encoder, lists[start : start + TransformersEncoder.window], kind, start)


def encoded(encoder: Encoder, texts: Sequence[str], kind: Kind) -> np.ndarray:
    """Encode some texts, at least one, in the same way: float32 of shape (texts, dim)."""
    return np.concatenate(list(windows_of(encoder, texts, kind)))


def _means(encoder: Encoder, lists: Sequence[Sequence[str]], kind: Kind, start: int) -> np.ndarray:
    """Return the mean vectors of lists of texts, float32 of shape (lists, dim)."""
    counts = np.array([len(each) for each in lists])
    firsts = np.cumsum(counts) - counts
    try:
        vectors = np.concatenate(list(encoder.windows([text for each in lists for text in each], kind)))
    except NotFiniteError as error:
        raise NotFiniteError(start + int(np.searchsorted(firsts, error.row, side="right")) - 1) from error
    # float64: a sum of many vectors in float32 would lose digits.
    sums = np.add.reduceat(vectors, firsts, axis=0, dtype=np.float64)
    return (sums / counts[:, None]).astype(np.float32)
