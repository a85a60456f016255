"""Matches of a query and a document in a learned sparse system: terms that both weigh."""

import numpy as np

from beirflow.families.matches import Match, Matched, Pairs
from beirflow.families.sparse.files import Rows, quantized
from beirflow.families.sparse.weigh import Weighing, load_weigher
from beirflow.models.computing.folder_tokenizer import readable

MOST_TERMS = 12  # terms of a pair that are shown: those that add most


def match_terms(pairs: Pairs, weighing: Weighing) -> Matched:
    """Find the terms that a query and a document share, by the product of their weights, the largest first.

    Raises ModelError if the model cannot be loaded, or computes a weight that is not finite; DeviceError if the GPU fails or has
    too little memory.
    """
    weighing.use_threads()
    rows = {}
    with weighing.gpu(saves_memory="lower token_budget or max_length"):
        for kind, texts in (("documents", pairs.documents), ("queries", pairs.queries)):
            weigher = load_weigher(weighing, kind)
            windows = [quantized(window, weighing.settings.quantize) for window in weigher.windows(texts, kind)]
            rows[kind] = Rows.together(windows)
    matches = []
    for query, document in zip(pairs.query.tolist(), pairs.document.tolist(), strict=True):
        terms, adds = _shared(rows["queries"].one(query), rows["documents"].one(document))
        names = [readable(weigher.tokenizer, term) for term in terms.tolist()]
        matches.append([Match(name, name, each) for name, each in zip(names, adds.tolist(), strict=True)])
    return Matched(matches, weigher.made())


def _shared(query: Rows, document: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms that add most to the score of two texts, and the products of their weights, float64."""
    terms, first, second = np.intersect1d(query.terms, document.terms, assume_unique=True, return_indices=True)
    products = query.weights[first].astype(np.float64) * document.weights[second]
    order = np.argsort(-products, kind="stable")[:MOST_TERMS]
    return terms[order], products[order]
