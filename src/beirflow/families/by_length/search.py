"""Search by length: each query gets the same documents."""

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.ranking.candidates import Candidates
from beirflow.ranking.searched import Retrieval, read_ids


@step(Candidates, stage="search", ancestors=None)
def search_lengths(queries: Queries, documents: Documents, chunk: str, unit: str, first: str, retrieval: Retrieval) -> Made:
    """Find the k longest or shortest documents of a chunk for every query; scores are lengths, negative for the shortest."""
    ids = read_ids(queries, documents, int(chunk), drop_self_matches=retrieval.drop_self_matches)
    texts = documents.read([int(chunk)], ["text"])["text"].to_pylist()
    lengths = np.array([len(text.split() if unit == "words" else text) for text in texts], np.float32)
    scores, rows = lengths if first == "longest" else -lengths, np.arange(len(texts), dtype=np.int32)
    cut = ids.cut(retrieval.top_k)
    kept = [rows[~np.isin(rows, excluded)] for excluded in ids.excluded]
    hits = cut.first_of([(np.full(len(found), query, np.int32), found, scores[found]) for query, found in enumerate(kept)])
    return Made(
        hits, made={}, counts={"self_matches_dropped": ids.self_matches}, sources={}, top_k=retrieval.top_k, ties="descending"
    )
