"""What a learned sparse system finds in common between a query and a document: terms that both weigh."""

from typing import Any

import numpy as np

from beirflow.computing.made import made_with
from beirflow.runs.matches import Match, Matched, Pairs
from beirflow.sparse.rows import Rows, quantized
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.steps import Weighing, load_weigher

MOST_TERMS = 12
"""Of a pair, those that add most."""


def match_terms(pairs: Pairs, settings: SparseSettings, **computing: Any) -> Matched:
    """Find the terms that a query and a document share, with the product of their weights.

    Args:
        pairs: The pairs.
        settings: Of the system.
        **computing: How its model computes, as in :class:`~beirflow.computing.model_settings.Computing`.

    Returns:
        Of each pair the terms that add most, the largest first.

    Raises:
        ModelError: The model cannot be loaded, or computes a weight that is not finite.
        DeviceError: The GPU fails or has too little memory.
    """
    weighing = Weighing(settings, **computing)
    weighing.use_threads()
    rows = {}
    with weighing.gpu(saves_memory="lower token_budget or max_length"):
        for kind, texts in (("documents", pairs.documents), ("queries", pairs.queries)):
            weigher = load_weigher(weighing, kind)
            windows = [quantized(window, settings.quantize) for window in weigher.windows(texts, kind)]
            rows[kind] = Rows.together(windows)
    both = zip(pairs.query.tolist(), pairs.document.tolist(), strict=True)
    shared = [_shared(rows["queries"], query, rows["documents"], document) for query, document in both]
    matches = [[Match(term, term, adds) for term, adds in _named(weigher.tokenizer, *found)] for found in shared]
    return Matched(matches, {"precision": str(weigher.dtype).removeprefix("torch."), **made_with(weigher.device)})


def _shared(queries: Rows, query: int, documents: Rows, document: int) -> tuple[np.ndarray, np.ndarray]:
    """The terms that add most to the score of a pair, and what each adds, float64."""
    here, there = (slice(*of.starts[[number, number + 1]]) for of, number in ((queries, query), (documents, document)))
    terms, first, second = np.intersect1d(queries.terms[here], documents.terms[there], assume_unique=True, return_indices=True)
    products = queries.weights[here][first].astype(np.float64) * documents.weights[there][second]
    order = np.argsort(-products, kind="stable")[:MOST_TERMS]
    return terms[order], products[order]


def _named(tokenizer: Any, terms: np.ndarray, products: np.ndarray) -> list[tuple[str, float]]:
    """Terms as a reader knows them: of tokenizers of bytes, the letters that bytes are."""
    names = [tokenizer.decode([term]).strip() or tokenizer.convert_ids_to_tokens(term) for term in terms.tolist()]
    return list(zip(names, products.tolist(), strict=True))
