"""An approximate system that answers queries: encoder, index and vectors stay in memory."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from beirflow.core.layout import CHUNK_VECTORS, INDEX
from beirflow.families.answers import NoAnswerError, Opened, SearchRequest, nothing_excluded
from beirflow.families.approximate.neighbours import find_neighbours, pairs_of, read_index
from beirflow.families.approximate.settings import ApproximateSettings
from beirflow.families.dense.answers import open_encoder
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.dense.top_k import exact_of_pairs
from beirflow.families.dense.vectors import VectorFiles
from beirflow.models.encoders.query_lists import encoded
from beirflow.ranking.ranking import Cut, Hits, byte_order


def open_answers(request: SearchRequest) -> Opened:
    """Open an approximate system, with its index and the vectors that score what it finds on the CPU.

    Raises NoAnswerError if both do not fit into memory, or nothing here encodes queries.
    """
    settings: ApproximateSettings = request.system.settings
    dense = request.systems[settings.approximate].settings
    if not isinstance(dense, DenseSettings):
        raise NoAnswerError(f"{settings.approximate} was made outside, so it cannot answer queries")
    encoder, similarity = open_encoder(request, dense, settings.approximate)
    index_path = request.file(INDEX, system=settings.approximate, index=settings.in_paths)
    vectors_paths = request.files(CHUNK_VECTORS, system=settings.approximate)
    request.make_room([index_path, *vectors_paths], 1.0)
    index = read_index(index_path, len(request.doc_ids))
    documents, order = VectorFiles(vectors_paths, request.sizes)[:], byte_order(request.doc_ids)
    cosine, threads, candidates = similarity == "cosine", request.threads, request.top_k * settings.rescore

    encode = partial(encoded, encoder, kind="queries")

    def answer(queries: Sequence[str]) -> Hits:
        """Search the index and rescore its candidates."""
        vectors = encode(queries)
        neighbours = find_neighbours(index, vectors, candidates, settings, cosine=cosine, threads=threads)
        excluded = nothing_excluded(queries)
        numbers, neighbour = pairs_of(neighbours, excluded, candidates)
        rows, row = np.unique(neighbour, return_inverse=True)
        pairs, cut, device = (numbers, row), Cut(request.top_k, order[rows], excluded), torch.device("cpu")
        numbers, places, scores = exact_of_pairs(vectors, documents[rows], pairs, cut, similarity=similarity, device=device)
        return numbers, rows[places].astype(np.int32), scores

    where = {"model": "its own place" if dense.encoder else request.device, "index": "cpu"}
    return Opened(answer, where, encoder.made(), encode)
