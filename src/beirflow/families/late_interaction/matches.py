"""Matches of a query and a document in late interaction: for each token of the query, the most similar one of the document."""

import numpy as np

from beirflow.data.document_text import Kind
from beirflow.families.late_interaction.encode import TokenEncoding, load_encoder
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.matches import Match, Matched, Pairs


def match_tokens(pairs: Pairs, encoding: TokenEncoding) -> Matched:
    """Find the most similar token of the document for each token of the query's text, in its order, with their similarity.

    Vectors must not be pooled. Special tokens and expansions add to the score, too, but say nothing to a reader.

    Raises ModelError if the model cannot be loaded, or computes a value that is not finite; DeviceError if the GPU fails or has
    too little memory.
    """
    encoding.use_threads()
    vectors: dict[Kind, TokenVectors] = {}
    tokens: dict[Kind, list[list[str | None]]] = {}
    texts: dict[Kind, list[str]] = {"documents": list(pairs.documents), "queries": list(pairs.queries)}
    with encoding.gpu(saves_memory="lower token_budget or document_length"):
        for kind, some in texts.items():
            encoder = load_encoder(encoding, kind)
            vectors[kind] = TokenVectors.together(list(encoder.windows(some)))
            tokens[kind] = encoder.tokens_of(some)
    matches = []
    for query, document in zip(pairs.query.tolist(), pairs.document.tolist(), strict=True):
        query_tokens, document_tokens = tokens["queries"][query], tokens["documents"][document]
        similar = _vectors_of(vectors["queries"], query) @ _vectors_of(vectors["documents"], document).T
        best = similar.argmax(axis=1).tolist()
        matches.append(
            [
                Match(token, document_tokens[place] or "", float(row[place]))
                for token, place, row in zip(query_tokens, best, similar, strict=True)
                if token is not None
            ]
        )
    return Matched(matches, encoder.made())


def _vectors_of(texts: TokenVectors, number: int) -> np.ndarray:
    first, last = texts.starts[[number, number + 1]]
    return texts.vectors[first:last].astype(np.float32)
