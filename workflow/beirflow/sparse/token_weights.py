"""Weights of terms from tokens: counted without a model, or merged from the weights of all tokens."""

import numpy as np

from beirflow.computing.batching import Tokens
from beirflow.sparse.parts import Part

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers of texts and of terms, int64, and weights, float32, each of shape (m,)."""


def count_tokens(window: Tokens, part: Part, table: np.ndarray | None) -> Weights:
    """Weigh the tokens of texts without a model.

    Args:
        window: The texts.
        part: How they are weighed.
        table: The weight of each term, float32 of shape (terms,); None to weigh by count, or each token with 1.

    Returns:
        The weights above 0.
    """
    text = np.repeat(np.arange(len(window.lengths)), window.lengths)
    pairs, counts = np.unique(text << 32 | window.ids, return_counts=True)
    text, terms = pairs >> 32, pairs & 0xFFFFFFFF
    weights = (counts if part.kind == "counts" else np.ones(len(terms))).astype(np.float32)
    if table is not None:
        weights = table[terms]
    kept = weights > 0
    found = text[kept], terms[kept], weights[kept]
    return found if part.most_terms is None else _heaviest(*found, part.most_terms)


def merge_tokens(window: Tokens, rows: np.ndarray, weights: np.ndarray, *, first: int | None, add: bool) -> Weights:
    """Merge the weights of all tokens of texts to weights of their terms.

    Args:
        window: The texts.
        rows: The texts that were weighed, int64 of shape (rows,).
        weights: The weight of each token, text by text, float32 of shape (tokens,).
        first: The special token that begins a text and has no weight.
        add: Whether the weights of a repeated token are added up; else the largest counts.

    Returns:
        The weights above 0.
    """
    ids, places = window.select(rows)
    text = np.repeat(rows, window.lengths[rows])
    kept = (weights > 0) & ~((places == 0) & (ids == first))
    pairs, weights = text[kept] << 32 | ids[kept], weights[kept]
    order = np.argsort(pairs, kind="stable")
    pairs, firsts = np.unique(pairs[order], return_index=True)
    if not len(pairs):
        return pairs, pairs, weights[:0]
    ordered = weights[order]
    merged = np.add.reduceat(ordered.astype(np.float64), firsts) if add else np.maximum.reduceat(ordered, firsts)
    return pairs >> 32, pairs & 0xFFFFFFFF, merged.astype(np.float32)


def _heaviest(text: np.ndarray, terms: np.ndarray, weights: np.ndarray, most: int) -> Weights:
    """The terms of each text that weigh most; of those that weigh the same, the first ones of the vocabulary."""
    order = np.lexsort((terms, -weights, text))
    places = np.arange(len(order)) - np.searchsorted(text[order], text[order])
    kept = order[places < most]
    return text[kept], terms[kept], weights[kept]
