"""Search one chunk exactly, in the system's own vectors or in those of the system that it is a variant of."""

from dataclasses import dataclass

import numpy as np

from beirflow.core.layout import record_of
from beirflow.core.records import Job, output_digest, read_json
from beirflow.families.dense.compression import CompressedFile, Compression
from beirflow.families.dense.ranges import read_ranges
from beirflow.families.dense.top_k import exact_of_pairs, exact_top_k
from beirflow.families.dense.vectors import VectorFile, read_vectors, similarity_of
from beirflow.ranking.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.ranking.ranking import Hits
from beirflow.ranking.searched import Ids, check_precision, read_searched
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


def search_chunk(
    *,
    request: SearchRequest,
    comparison: Comparison,
    model_path: str,
    query_vectors_path: str,
    chunk_vectors_path: str,
    hardware: Hardware,
    job: Job,
    ranges_path: str | None = None,
) -> None:
    """Find the top k of one chunk for every query, among its own candidates where the dataset states them.

    The paths of vectors are ``.npy`` files, float32 of shape (queries, dim) and (documents of the chunk, dim), with their
    records; ``ranges_path`` has the ranges of the corpus, for int8 vectors. Raises ConfigError for vectors with fewer dimensions
    than the variant stores; DataError for a file that is not the recorded one, vectors of another system, model or dataset, or of
    several precisions; DeviceError for a GPU that fails or has too little memory.
    """
    hardware.use_threads()
    encoder = comparison.variant_of or request.system
    vectors_of = {query_vectors_path: request.corpus.queries_path, chunk_vectors_path: request.corpus.documents_path}
    records = read_searched(vectors_of, model_path, job, system=encoder)
    check_precision(records, "encode")
    similarity, model = similarity_of(comparison.similarity, model_path), read_json(model_path)

    def open_chunk(ids: Ids) -> OpenedChunk:
        # Copied into memory: every block of documents is compared with all queries.
        queries = np.array(read_vectors(query_vectors_path, len(ids.queries)))
        documents = VectorFile(chunk_vectors_path, len(ids.documents), checked=True)
        if not comparison.variant_of:
            return OpenedChunk(lambda: _top_k(request.top_k, queries, documents, similarity, ids, hardware.device))
        ranges, changed = None, {}
        if ranges_path:
            digest = output_digest(records[chunk_vectors_path], chunk_vectors_path)
            ranges = read_ranges(ranges_path, {job.below(chunk_vectors_path): digest}, system=encoder, similarity=similarity)
            changed[ranges_path] = read_json(record_of(ranges_path))
        compression = Compression(comparison.vectors, comparison.dimensions, similarity == "cosine", ranges)
        asked, stored = compression.compressed(queries), CompressedFile(documents, compression)
        for path, stage, shape in ((query_vectors_path, "queries", asked.shape), (chunk_vectors_path, "index", stored.shape)):
            changed[path] = records[path] | {"bytes": {stage: compression.stored_bytes(*shape)}}
        return OpenedChunk(
            lambda: _top_k(request.top_k, asked, stored, compression.similarity, ids, hardware.device),
            made={"vectors": comparison.vectors, "dimensions": str(asked.shape[1])},
            records=changed,
        )

    files = SearchedFiles(records, models={model_path: model} if "seconds" in model else {})
    search_one_chunk(request, job, files, open_chunk, gpu=hardware.gpu(), ranks_own_candidates=True)


def _top_k(
    k: int, queries: np.ndarray, documents: VectorFile | CompressedFile, similarity: str, ids: Ids, device: str
) -> tuple[Hits, int]:
    """Find the k best documents of each query, and count the documents that are left out."""
    cut, where = ids.cut(k), exact_device(device)
    if ids.pairs is None:
        hits = exact_top_k(queries, documents, cut, similarity=similarity, device=where)
    else:
        hits = exact_of_pairs(queries, documents, ids.pairs, cut, similarity=similarity, device=where)
    return hits, ids.self_matches
