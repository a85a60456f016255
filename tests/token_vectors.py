"""Vectors of tokens, and their scores by brute force in double."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import steps
from beirflow.families.late_interaction.vectors import TokenVectorFile, TokenVectors, in_segments

Hit = tuple[int, int, float]


def random_vectors(
    rng: np.random.Generator, counts: Sequence[int] | np.ndarray, dim: int = 16, tokens: int | None = None
) -> TokenVectors:
    """Vectors of length 1 in float16; drawn from a few where these are given, so that scores tie."""
    total = int(sum(counts))
    drawn = rng.standard_normal((tokens or total, dim), np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors = drawn[rng.integers(tokens, size=total)] if tokens else drawn
    return TokenVectors(np.array(counts, np.int64), vectors.astype(np.float16))


def text_scores(queries: TokenVectors, texts: TokenVectors) -> np.ndarray:
    """Of every query with every text, float32 of shape (queries, texts), by definition."""
    found = np.zeros((len(queries.counts), len(texts.counts)))
    for text, (start, stop) in enumerate(zip(texts.starts, texts.starts[1:], strict=False)):
        best = (queries.vectors.astype(np.float64) @ texts.vectors[start:stop].astype(np.float64).T).max(axis=1)
        for query, (first, last) in enumerate(zip(queries.starts, queries.starts[1:], strict=False)):
            found[query, text] = best[first:last].sum()
    return found.astype(np.float32)


def best(scores: np.ndarray, ids: Sequence[str], k: int) -> list[Hit]:
    """The k best of each query by the ranking rule; minus infinity is no hit."""
    found: list[Hit] = []
    for query, row in enumerate(scores):
        order = sorted(range(len(ids)), key=lambda document, row=row: (row[document], ids[document].encode()), reverse=True)
        found += [(query, document, float(row[document])) for document in order[:k] if row[document] > -np.inf]
    return found


def written(texts: TokenVectors, indices: Sequence[int] | np.ndarray, path: Path, at_once: int = 1000) -> Path:
    """A file of the vectors of a table whose rows have these texts."""
    parts = (slice(first, first + at_once) for first in range(0, len(texts.counts), at_once))
    windows = (texts.take(np.arange(len(texts.counts))[part]) for part in parts)
    steps.write(TokenVectorFile, path, in_segments(windows, np.array(indices, np.int64)))
    return path
