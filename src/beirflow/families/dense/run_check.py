"""Check of the run of a dense system: some queries are searched again over all stored vectors.

In float64 and with nothing of ``search.py``.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.layout import CHUNK_VECTORS, QUERY_VECTORS
from beirflow.core.records import read_json
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.spot_checks.compared_ranks import Scores, SearchCheck
from beirflow.families.spot_checks.spot_check import BLOCK_ROWS, SpotCheck, Subject

SUM = 4 * 2.0**-53  # largest difference of two sums in float64, over the number and the lengths of what is summed
SCALED = 4 * 2.0**-24  # the same of vectors of length 1, of which a few numbers may round to the other side, over the largest one


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check of the run of a dense system."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)
    return [DenseRunCheck(subject, settings, sample, random).ranks()]


class DenseRunCheck(SearchCheck):
    """The check of the run of one system on one corpus."""

    settings: DenseSettings

    @property
    def names(self) -> dict[str, Any]:
        """Names in the paths of the vectors, which are those of the encoder."""
        return {"system": self.settings.variant_of or self.subject.system.name, "dataset": self.subject.dataset}

    def stored_queries(self, rows: np.ndarray) -> np.ndarray:
        """Read the vectors of some queries."""
        vectors = read_vectors(self.subject, QUERY_VECTORS(**self.names))
        if len(vectors) != (queries := self.subject.queries.num_rows):
            raise ValueError(f"{QUERY_VECTORS(**self.names)} has {len(vectors)} vectors of {queries} queries")
        return np.asarray(vectors[rows])

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, in float64."""
        vectors, longest, largest = self._searched(self.stored_queries(rows)), [0.0], [0.0]  # lengths and numbers of documents

        def blocks() -> Iterator[tuple[pa.Array, np.ndarray]]:
            for chunk in range(self.subject.chunks):
                array, doc_ids = self._chunk(chunk), self.subject.doc_ids(chunk)
                for start in range(0, len(array), BLOCK_ROWS):
                    block = self._searched(array[start : start + BLOCK_ROWS])
                    longest.append(float(np.linalg.norm(block, axis=1).max()))
                    largest.append(float(np.abs(block).max()))
                    yield doc_ids.slice(start, len(block)), vectors @ block.T

        return Scores(blocks(), lambda: rounding(vectors, max(longest), max(largest), cosine=self._is_cosine))

    @cached_property
    def _searched(self) -> Callable[[np.ndarray], np.ndarray]:
        """Convert stored vectors to those that are searched: compressed in a variant, of length 1 for the cosine; float64."""
        cosine = self._is_cosine
        if not self.settings.variant_of:
            return partial(scaled, cosine=cosine)
        stored = _stored(self.settings, [self._chunk(chunk) for chunk in range(self.subject.chunks)], cosine=cosine)
        return lambda vectors: scaled(stored(vectors), cosine=cosine and self.settings.vectors != "binary")

    @cached_property
    def _is_cosine(self) -> bool:
        """Test whether vectors are compared by their cosine."""
        return bool((self.settings.similarity or self._card()["similarity"]) == "cosine")

    def _card(self) -> Mapping[str, Any]:
        """Return what the files of the model say, as it was recorded."""
        card = read_json(self.subject.results / self.settings.model_record(**self.names)).get("card")
        if not isinstance(card, dict) or card.get("similarity") not in ("dot", "cosine"):
            raise ValueError("the record of the model does not say the similarity")
        return card

    def _chunk(self, chunk: int) -> np.ndarray:
        return read_vectors(self.subject, CHUNK_VECTORS(**self.names, chunk=chunk))


def rounding(queries: np.ndarray, longest: float, largest: float, *, cosine: bool) -> np.ndarray:
    """Return how far sums of products may be from those of a search, before these are rounded to float32; shape (queries,).

    ``longest`` is the greatest length of a document, ``largest`` the greatest number in one. A search sums exact products in
    float64, so that documents with equal vectors have equal scores.
    """
    of_sums = SUM * queries.shape[1] * np.linalg.norm(queries, axis=1) * longest
    return np.asarray(of_sums + (SCALED * np.abs(queries).max(axis=1, initial=0.0) * largest if cosine else 0.0))


def read_vectors(subject: Subject, path: str) -> np.ndarray:
    """Open the vectors of a file, float32 of shape (n, dim)."""
    array: np.ndarray = np.load(subject.file(path), mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.dtype != np.float32:
        raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}")
    return array


def _stored(settings: DenseSettings, files: list[np.ndarray], *, cosine: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Compress the vectors of a variant as they are searched, in a second implementation."""

    def kept(vectors: np.ndarray) -> np.ndarray:
        return scaled(vectors[:, : settings.stored_dimensions], cosine=cosine).astype(np.float32)

    if settings.vectors == "binary":
        return lambda vectors: np.where(kept(vectors) > 0, 1, -1)
    if settings.vectors != "int8":
        return lambda vectors: kept(vectors).astype(settings.vectors)
    least, most = (np.full(settings.stored_dimensions or files[0].shape[1], end, np.float32) for end in (np.inf, -np.inf))
    for file in files:
        for start in range(0, len(file), BLOCK_ROWS):
            block = kept(file[start : start + BLOCK_ROWS])
            least, most = np.minimum(least, block.min(axis=0)), np.maximum(most, block.max(axis=0))
    step = (most - least) / np.float32(255)
    step = np.where(step > 0, step, np.float32(1))
    return lambda vectors: np.floor((kept(vectors) - least) / step).clip(0, 255) - 128


def scaled(vectors: np.ndarray, *, cosine: bool) -> np.ndarray:
    """Convert vectors to float64; for the cosine as search rounds them, to length 1 in float32."""
    exact = vectors.astype(np.float64)
    if cosine:
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-60)
        exact = exact.astype(np.float32).astype(np.float64)
    return exact
