"""From times to rates, shares and hours."""

import numpy as np

from bench.gpu.workload import Shape

BEIR_DOCUMENTS = 33.86e6
"""Documents of BEIR's public datasets together."""


def matrix_parameters(shape: Shape) -> int:
    """Parameters of the matrices that every token is multiplied with: query, key, value, output, and the two of the inner layer.

    Embeddings are looked up, biases and norms are not matrices, and the pooler sees one token a text.
    """
    return shape.layers * (4 * shape.dim**2 + 2 * 4 * shape.dim**2)


def flops_per_token(shape: Shape, counts: np.ndarray) -> float:
    """Floating-point operations a token, mean over all tokens.

    Twice the parameters of the matrices, and 4 x layers x dim x length of the text for the products of the attention: queries
    with keys, and weights with values. This is the forward third of 6 N + 12 L H Q T of PaLM's appendix B (Chowdhery et al. 2022,
    arXiv:2204.02311); N and the products alone count, not softmax, norms and activations.

    Args:
        shape: Of the model.
        counts: Tokens of each text; the mean over tokens of a text's length is their sum of squares over their sum.

    Returns:
        FLOPs a token.
    """
    seen = float((counts.astype(np.float64) ** 2).sum() / counts.sum())
    return 2 * matrix_parameters(shape) + 4 * shape.layers * shape.dim * seen


def hours_for_beir(documents_per_second: float) -> float:
    """Hours to encode all documents of BEIR at such a rate."""
    return BEIR_DOCUMENTS / documents_per_second / 3600


def union_seconds(starts: np.ndarray, ends: np.ndarray) -> float:
    """Time that at least one of some intervals covers.

    Args:
        starts: Start of each, in seconds, shape (n,).
        ends: End of each, no earlier than its start.

    Returns:
        Seconds.
    """
    if not len(starts):
        return 0.0
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    before = np.append(starts[0], ends[:-1])
    return float(np.maximum(0, ends - np.maximum(starts, before)).sum())


def relative_errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Length of the difference of each vector from the one that is expected, over the length of that."""
    return np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)


def nearest_is_own(found: np.ndarray, expected: np.ndarray) -> float:
    """Share of the vectors that, of all that are expected, are nearest to their own."""
    centre = expected.mean(axis=0)
    found, expected = found - centre, expected - centre
    distances = (expected**2).sum(axis=1) - 2 * found @ expected.T
    return float((distances.argmin(axis=1) == np.arange(len(found))).mean())
