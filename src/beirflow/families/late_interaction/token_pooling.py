"""Token pooling: average the vectors of similar tokens (Clavié et al. 2024, arXiv 2409.14683). It changes scores.

The first vector stays what it is; the n others are put into n // factor groups by Ward's linkage of their cosine distances, and
each group into its mean, which is not made of length 1 again. So do PyLate from 1.3.5 on and sentence-transformers'
HierarchicalTokenPooling with ``normalize_embeddings=False``.
"""

import numpy as np

PROTECTED = 1  # vectors at the beginning that are not pooled: that of the first special token

LOSSY = "vectors of like tokens are averaged, so that scores are not those of all tokens"
"""Label of such systems in records and tables."""


def pooled(vectors: np.ndarray, factor: int) -> np.ndarray:
    """Average the vectors of like tokens of a document, about ``factor`` to one.

    ``vectors`` and the result, (PROTECTED + groups, dim), are float32. There are fewer groups where tokens are equal; the same
    vectors come back where groups would not be fewer.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # only where it is needed: it takes long to import

    first, others = vectors[:PROTECTED], vectors[PROTECTED:]
    groups = max(len(others) // factor, 1)
    if groups >= len(others):
        return vectors
    distances = np.clip(1 - others @ others.T, 0, 2)[np.triu_indices(len(others), k=1)]
    labels = fcluster(linkage(distances, method="ward"), t=groups, criterion="maxclust")
    means = [others[labels == label].mean(axis=0, dtype=np.float64) for label in np.unique(labels)]  # rounded once, below
    return np.concatenate([first, np.array(means, np.float32)])
