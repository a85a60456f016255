"""A dense system that answers queries: its encoder and all vectors stay in memory or on the GPU."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from beirflow.core.layout import ALL_DIMENSIONS, CHUNK_VECTORS, CHUNK_VECTORS_RECORD, RANGES
from beirflow.families.answers import Opened, SearchRequest, nothing_excluded
from beirflow.families.dense.chunk import InMemoryChunk
from beirflow.families.dense.compression import CompressedFile, Compression
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.dense.top_k import exact_top_k
from beirflow.families.dense.vectors import VectorFiles, Vectors, similarity_of
from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import encoded
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.ranking.ranking import Cut, Hits, byte_order


def open_answers(request: SearchRequest) -> Opened:
    """Open a dense system with its vectors on the device; those of a variant as it stores them, in float32.

    Raises NoAnswerError if the vectors do not fit into memory.
    """
    settings: DenseSettings = request.system.settings
    device, owner = torch.device(request.device), settings.variant_of or request.system.name
    encoder, similarity = open_encoder(request, settings, owner)
    compression = _compression(request, similarity, owner) if settings.variant_of else None
    files = _vector_files(request, owner)
    similarity = compression.similarity if compression else similarity
    documents = InMemoryChunk(CompressedFile(files, compression) if compression else files, similarity, device)
    order = byte_order(request.doc_ids)

    encode = partial(encoded, encoder, kind="queries")

    def answer(queries: Sequence[str]) -> Hits:
        """Encode the queries and search exactly."""
        vectors, cut = encode(queries), Cut(request.top_k, order, nothing_excluded(queries))
        stored = compression.compressed(vectors) if compression else vectors
        return exact_top_k(stored, documents, cut, similarity=similarity, device=device)

    where = {"model": "its own place" if settings.encoder else device.type, "vectors": device.type}
    return Opened(answer, where, encoder.made(), encode)


def open_encoder(request: SearchRequest, settings: DenseSettings, owner: str) -> tuple[Encoder, str]:
    """Load the encoder of queries; return it with the similarity of vectors, ``dot`` or ``cosine``.

    ``owner`` is the system that encoded the corpus.
    """
    model_path = request.file(settings.model_record, system=owner)
    encoding = next_to_record(settings.used_encoding, model_path)
    check_model(encoding, model_path)
    return load_encoder(encoding, "queries", **request.on), similarity_of(settings.similarity, model_path)


def _vector_files(request: SearchRequest, owner: str) -> VectorFiles:
    """Open the vectors of all chunks that their records name."""
    request.files(CHUNK_VECTORS_RECORD, system=owner)
    names = {"system": owner, "dataset": request.dataset}
    paths = [str(request.job.results / CHUNK_VECTORS(**names, chunk=chunk)) for chunk in range(len(request.sizes))]
    for path in paths:
        Vectors(path).check()
    if request.device == "cpu":
        request.make_room(paths, 1.0)
    return VectorFiles(paths, request.sizes)


def _compression(request: SearchRequest, similarity: str, owner: str) -> Compression:
    """Return the compression of a variant."""
    settings: DenseSettings = request.system.settings
    ranges = None
    if settings.vectors == "int8":
        path = request.file(RANGES, system=owner, dimensions=settings.stored_dimensions or ALL_DIMENSIONS)
        ranges = np.load(path, allow_pickle=False)
    return Compression(settings.vectors, settings.stored_dimensions, similarity == "cosine", ranges)
