"""Search one chunk exactly, in the system's own vectors or in those of the system that it is a variant of."""

import time
from dataclasses import dataclass

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.dense.compression import CompressedFile, Compression
from beirflow.families.dense.ranges import Ranges
from beirflow.families.dense.top_k import exact_of_pairs, exact_top_k
from beirflow.families.dense.vectors import VectorFile, Vectors, read_vectors, similarity_of
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import Candidates, sources_of
from beirflow.ranking.ranking import Hits
from beirflow.ranking.searched import Ids, Retrieval, check_precision, read_ids_to_rank
from beirflow.run.devices import exact_device
from beirflow.run.hardware import Hardware


@dataclass(frozen=True)
class Comparison:
    """The vectors that a system searches, and how they are compared."""

    similarity: str | None = None  # ``dot`` or ``cosine``; None for the one in the record of the model
    # the system that encoded the vectors, which are compressed before they are searched; None if it is this one
    variant_of: str | None = None
    vectors: str = (
        "float32"  # stored type of a variant's vectors, as in :class:`~beirflow.families.dense.compression.Compression`
    )
    dimensions: int | None = None  # number of dimensions that a variant stores; None for all


@dataclass(frozen=True)
class Searched:
    """The vectors that a search reads, and what they were made with."""

    model: ModelRecord
    query_vectors: Vectors
    chunk_vectors: Vectors
    ranges: Ranges | None  # of the corpus, for int8


@step(Candidates, stage="search", ancestors=None, same=("system",))
def search_chunk(
    queries: Queries,
    documents: Documents,
    searched: Searched,
    chunk: int,
    comparison: Comparison,
    retrieval: Retrieval,
    hardware: Hardware,
) -> Made:
    """Find the top k of one chunk for every query, among its own candidates where the dataset states them.

    Raises ConfigError for vectors with fewer dimensions than the variant stores; DataError for vectors of other texts, or of
    several precisions; DeviceError for a GPU that fails or has too little memory.
    """
    hardware.use_threads()
    of_queries, of_chunk, ranges = searched.query_vectors, searched.chunk_vectors, searched.ranges
    check_precision((of_queries, of_chunk), "encode")
    similarity = similarity_of(comparison.similarity, searched.model.path)
    ids, digests = read_ids_to_rank(queries, documents, chunk, retrieval)
    # Copied into memory: every block of documents is compared with all queries.
    query_vectors = np.array(read_vectors(of_queries.path, len(ids.queries)))
    file = VectorFile(of_chunk.path, len(ids.documents))
    stored: VectorFile | CompressedFile = file
    trained = [searched.model] if "seconds" in searched.model.record else []  # for the dataset, which is part of its cost
    made, sources = {}, sources_of([of_queries, of_chunk, *([ranges] if ranges else []), *trained])
    if comparison.variant_of:
        of_corpus = ranges.read(similarity) if ranges else None
        compression = Compression(comparison.vectors, comparison.dimensions, similarity == "cosine", of_corpus)
        query_vectors, stored = compression.compressed(query_vectors), CompressedFile(file, compression)
        for vectors, stage in ((of_queries, "queries"), (of_chunk, "index")):
            sources[vectors.record["path"]]["bytes"] = {stage: compression.stored_bytes(vectors.record["rows"], stored.shape[1])}
        similarity, made = compression.similarity, {"vectors": comparison.vectors, "dimensions": str(query_vectors.shape[1])}
    with hardware.gpu():
        start = time.perf_counter()
        hits = _top_k(retrieval.top_k, query_vectors, stored, similarity, ids, hardware.device)
        seconds = {"search": time.perf_counter() - start}
    counts = {"self_matches_dropped": ids.self_matches}
    facts = {"made": made, "seconds": seconds, "counts": counts, "sources": sources}
    return Made(hits, top_k=retrieval.top_k, ties="descending", read=digests, **facts)


def _top_k(k: int, queries: np.ndarray, documents: VectorFile | CompressedFile, similarity: str, ids: Ids, device: str) -> Hits:
    """Find the k best documents of each query."""
    cut, where = ids.cut(k), exact_device(device)
    if ids.pairs is None:
        return exact_top_k(queries, documents, cut, similarity=similarity, device=where)
    return exact_of_pairs(queries, documents, ids.pairs, cut, similarity=similarity, device=where)
