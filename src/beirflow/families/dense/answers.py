"""A dense system that answers queries: its encoder and all vectors stay in memory or on the GPU."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from beirflow.core.layout import ALL_DIMENSIONS, CHUNK_VECTORS, CHUNK_VECTORS_RECORD, RANGES
from beirflow.families.answers import Asked, Opened, nothing_excluded
from beirflow.families.dense.compression import CompressedFile, Compression
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.dense.top_k import InMemoryChunk, exact_top_k
from beirflow.families.dense.vectors import VectorFiles, Vectors, similarity_of
from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import encoded
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.ranking.ranking import Cut, Hits, byte_order


def open_answers(asked: Asked) -> Opened:
    """Open a dense system with its vectors on the device; those of a variant as it stores them, in float32.

    Raises NoAnswerError if the vectors do not fit into memory.
    """
    settings: DenseSettings = asked.system.settings
    device, owner = torch.device(asked.device), settings.variant_of or asked.system.name
    encoder, similarity = open_encoder(asked, settings, owner)
    compression = _compression(asked, similarity, owner) if settings.variant_of else None
    files = _vector_files(asked, owner)
    similarity = compression.similarity if compression else similarity
    documents = InMemoryChunk(CompressedFile(files, compression) if compression else files, similarity, device)
    order = byte_order(asked.doc_ids)

    encode = partial(encoded, encoder, kind="queries")

    def answer(queries: Sequence[str]) -> Hits:
        vectors, cut = encode(queries), Cut(asked.top_k, order, nothing_excluded(queries))
        stored = compression.compressed(vectors) if compression else vectors
        return exact_top_k(stored, documents, cut, similarity=similarity, device=device)

    where = {"model": "its own place" if settings.encoder else device.type, "vectors": device.type}
    return Opened(answer, where, encoder.made(), encode)


def open_encoder(asked: Asked, settings: DenseSettings, owner: str) -> tuple[Encoder, str]:
    """Load the encoder of queries; return it with the similarity of vectors, ``dot`` or ``cosine``.

    ``owner`` is the system that encoded the corpus.
    """
    model_path = asked.file(settings.model_record, system=owner)
    encoding = next_to_record(settings.used_encoding, model_path)
    check_model(encoding, model_path)
    return load_encoder(encoding, "queries", **asked.on), similarity_of(settings.similarity, model_path)


def _vector_files(asked: Asked, owner: str) -> VectorFiles:
    """Open the vectors of all chunks that their records name."""
    asked.files(CHUNK_VECTORS_RECORD, system=owner)
    names = {"system": owner, "dataset": asked.dataset}
    paths = [str(asked.job.results / CHUNK_VECTORS(**names, chunk=chunk)) for chunk in range(len(asked.sizes))]
    for path in paths:
        Vectors(path).check()
    if asked.device == "cpu":
        asked.make_room(paths, 1.0)
    return VectorFiles(paths, asked.sizes)


def _compression(asked: Asked, similarity: str, owner: str) -> Compression:
    """Return the compression of a variant."""
    settings: DenseSettings = asked.system.settings
    ranges = None
    if settings.vectors == "int8":
        path = asked.file(RANGES, system=owner, dimensions=settings.stored_dimensions or ALL_DIMENSIONS)
        ranges = np.load(path, allow_pickle=False)
    return Compression(settings.vectors, settings.stored_dimensions, similarity == "cosine", ranges)
