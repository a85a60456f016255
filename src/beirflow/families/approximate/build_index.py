"""Build an approximate index over all vectors of a dense system; nothing is encoded."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.core.errors import ConfigError, DataError
from beirflow.core.progress import Progress
from beirflow.core.records import together
from beirflow.data.corpus_files import Documents
from beirflow.families.approximate.settings import ApproximateSettings, IndexFile, faiss_library
from beirflow.families.dense.compression import Compression
from beirflow.families.dense.vectors import VectorFiles, Vectors, similarity_of
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.searched import check_precision

READ_ROWS = 1 << 16  # vectors that are read and scaled at once

POINTS_OF_A_CENTROID = 39  # number of training vectors for each centroid below which faiss warns

logger = logging.getLogger(__name__)


@step(IndexFile, stage="build", ancestors=None, same=("system",))
def build_index(
    documents: Documents,
    model: ModelRecord,
    vectors: Sequence[Vectors],
    system: str,
    settings: ApproximateSettings,
    similarity: str | None,
) -> Made:
    """Build the index of a corpus over the vectors of chunk 0, 1, … of a dense system.

    A similarity of None is that which the record of the model states. Raises ConfigError if faiss is not installed, or cannot
    build such an index of these vectors; DataError for a corpus without documents, or vectors of several precisions.
    """
    faiss = faiss_library()
    similarity = similarity_of(similarity, model.path)
    check_precision(vectors, "encode")
    files = VectorFiles([each.path for each in vectors], [each.record["rows"] for each in vectors])
    stored = _read_all(files, cosine=similarity == "cosine")
    if not len(stored):
        raise DataError(f"{documents.path}: the corpus has no document, so there is no index")
    start = time.perf_counter()
    index = trained_index(settings, stored)
    seconds = time.perf_counter() - start

    def tell(size: int) -> None:
        """Record the size of the index."""
        made.fields |= {"sizes": {"index": size}, "counts": {"approximate_index_bytes": size}}

    made = Made(
        (index, tell),
        made=together([*(each.record["made"] for each in vectors), {"faiss": faiss.__version__}]),
        seconds={"build": seconds},
        system=system,
        similarity=similarity,
        built=settings.built,
        rows=len(stored),
        dim=stored.shape[1],
        reproducible=settings.build_threads == 1,
    )
    return made


def _read_all(files: VectorFiles, *, cosine: bool) -> np.ndarray:
    """Read all vectors, scaled to length 1 for the cosine: the graph of HNSW depends on what is added together."""
    vectors, form = np.empty(files.shape, np.float32), Compression("float32", None, cosine)
    with Progress("read vectors", len(vectors), "documents") as progress:
        for start in range(0, len(vectors), READ_ROWS):
            block = form.shortened(files[start : start + READ_ROWS])
            vectors[start : start + READ_ROWS] = block
            progress.advance(len(block))
    return vectors


def trained_index(settings: ApproximateSettings, vectors: np.ndarray) -> Any:
    """Train an index of faiss, which compares inner products, and add all vectors.

    They are float32 of shape (documents, dim), of length 1 for the cosine. Raises ConfigError if faiss cannot build it.
    """
    faiss = faiss_library()
    _check(settings, *vectors.shape)
    faiss.omp_set_num_threads(settings.build_threads)
    if settings.index == "binary":  # the signs; the documents with the fewest other ones than the query are found
        index = faiss.IndexLSH(vectors.shape[1], vectors.shape[1], False, False)
    else:
        index = faiss.index_factory(vectors.shape[1], settings.factory, faiss.METRIC_INNER_PRODUCT)
    inner = faiss.downcast_index(index)
    if settings.index == "hnsw":
        inner.hnsw.efConstruction = settings.ef_construction
        inner.hnsw.rng = faiss.RandomGenerator(settings.seed)
    for quantizer in [inner, inner.pq] if settings.index == "ivf-pq" else [inner] if settings.nlist else []:
        quantizer.cp.seed = settings.seed
        quantizer.cp.min_points_per_centroid = 1  # faiss would warn on standard error, past the log
    index.train(vectors)
    index.add(vectors)
    return index


def _check(settings: ApproximateSettings, documents: int, dim: int) -> None:
    """Refuse what faiss cannot build, and warn of too few training vectors."""
    codes = 2 ** (settings.bits or 0) if settings.index == "ivf-pq" else 0
    if settings.index == "ivf-pq" and dim % (settings.m or 1):
        divisors = [m for m in range(1, dim + 1) if dim % m == 0]
        raise ConfigError(f"m: found {settings.m}, which does not divide the {dim} dimensions; allowed are {divisors}")
    if settings.nlist and settings.nlist > documents:
        raise ConfigError(f"nlist: found {settings.nlist} lists, but the corpus has {documents} documents; use fewer lists")
    if codes > documents:
        problem = f"{settings.bits}, which are {codes} codes, but the corpus has {documents} documents to train them"
        raise ConfigError(f"bits: found {problem}; use fewer bits")
    centroids = max(settings.nlist or 0, codes)
    if documents < POINTS_OF_A_CENTROID * centroids:
        logger.warning(
            "%s: %d documents train %d centroids, fewer than %d for each; use fewer lists or bits",
            *(settings.in_paths, documents, centroids, POINTS_OF_A_CENTROID),
        )
