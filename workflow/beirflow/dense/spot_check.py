"""Check of the stored vectors and of the run of a dense system, on a sample.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, in float64 and with nothing of ``search.py``.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from beirflow.datasets.document_text import Kind
from beirflow.dense.settings import DenseSettings
from beirflow.encoders.encoder import Encoder
from beirflow.encoders.load import load_encoder
from beirflow.encoders.query_lists import windows_of
from beirflow.expansions.spot_check import expansion_checks
from beirflow.files.layout import CHUNK_VECTORS, MODEL, QUERY_VECTORS, TRAINED_MODEL_RECORD
from beirflow.files.records import read_json
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from beirflow.postings.analyzer import analyze
from beirflow.runs.compared_ranks import Scores
from beirflow.runs.representation_check import RepresentationCheck, TextSample
from beirflow.runs.spot_check import BLOCK_ROWS, MODEL_PLACE, Finding, NotHereError, SpotCheck, Subject, compare_distances
from beirflow.sources.query_lists import texts_of

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "int8": 2e-1, "unknown": 5e-2}
"""Largest length of the difference of two vectors over that of the stored one, by precision.

Wider than what was measured, because devices and larger models differ more: all-MiniLM-L6-v2 on a CPU, in other batches, at
most 8e-7 in float32, 7e-4 in float16, 5e-3 in bfloat16; against the vectors in float32, 2e-3 and 1.2e-2. paraphrase-MiniLM-L3-v2,
quantised to int8 with scales that depend on the batch: at most 1.1e-1."""


ROUNDING = 4 * 2.0**-24  # largest difference of two scores in float32, over the product of the lengths of the two vectors

ENCODER_PLACE = (*MODEL_PLACE, "query_model", "query_revision", "encoder", "arguments")
"""Settings of the encoder that are those of the person who audits."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a dense system on one corpus.

    These encode documents and queries of a sample again and search queries again; for a trained system, with its weights, after
    checks that write queries again.
    """
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)
    return [*expansion_checks(subject, sample, random, analyze), *VectorCheck(subject, settings, sample, random).checks()]


class VectorCheck(RepresentationCheck[np.ndarray]):
    """The checks of the vectors of one system for one corpus."""

    settings: DenseSettings
    made = "encoded", "vectors"
    of_queries, of_chunk = QUERY_VECTORS, CHUNK_VECTORS
    tolerance = TOLERANCE
    least_drift: ClassVar = {**dict.fromkeys(TOLERANCE, 1e-5), "float32": 2e-6}  # over the lengths of both vectors
    most_others = 2000  # a product of two vectors costs little

    @property
    def names(self) -> dict[str, Any]:
        """Names in the paths of the vectors, which are those of the encoder."""
        return {"system": self.settings.variant_of or self.subject.system.name, "dataset": self.subject.dataset}

    @property
    def precision(self) -> str:
        """Precision in which the texts were encoded."""
        return self.subject.precision(TOLERANCE, own=self.settings.has_own_precision)

    @property
    def separator(self) -> str | None:
        """Separator of title and text."""
        return self._encoding().between

    def stored_queries(self, rows: np.ndarray) -> np.ndarray:
        """Read the vectors of some queries."""
        vectors = self._array(QUERY_VECTORS(**self.names))
        if len(vectors) != (queries := self.subject.queries().num_rows):
            raise ValueError(f"{QUERY_VECTORS(**self.names)} has {len(vectors)} vectors of {queries} queries")
        return np.asarray(vectors[rows])

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> np.ndarray:
        """Read the vectors of some documents of a chunk."""
        return np.asarray(self._chunk(chunk)[rows])

    def join(self, parts: list[np.ndarray]) -> np.ndarray:
        """Join the vectors of several parts."""
        return np.concatenate(parts)

    def represent(self, sample: TextSample[np.ndarray]) -> np.ndarray:
        """Encode the texts again."""
        return np.concatenate([vectors for _, vectors in windows_of(self.model(sample.kind), sample.texts, sample.kind)])

    def load(self, kind: Kind) -> Encoder:
        """Load the encoder."""
        settings = self._encoding()
        precision = "auto" if settings.has_own_precision else self.precision
        return _encoder(settings, kind, precision=precision, **self.subject.computing)

    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        """Return the rows of the texts of a batch. Raises NotHereError if queries are lists, whose texts are other rows."""
        if texts.kind == "queries" and any(len(texts_of(each)) > 1 for each in texts.texts):
            raise NotHereError("queries that are lists of texts are not made again in the same batches")
        return np.asarray(self.model(texts.kind).batch_of(texts.texts, texts.kind, row))

    def compare(self, sample: TextSample[np.ndarray], again: np.ndarray) -> Finding:
        """Compare vectors one by one."""
        lengths = np.maximum(np.linalg.norm(sample.stored, axis=1), 1e-30)
        apart = np.linalg.norm(again - sample.stored, axis=1) / lengths
        problem = f"{self.subject.name}: {len(apart)} {sample.kind}"
        unit = " of a vector's length"
        return compare_distances(problem, apart, unit, TOLERANCE, self.precision, lambda worst: repr(sample.ids[worst]))

    def scores(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Score documents for queries."""
        return np.asarray(self._searched(queries) @ self._searched(documents).T)

    def lengths(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the products of the lengths of searched vectors."""
        return np.outer(*(np.linalg.norm(self._searched(each), axis=1) for each in (queries, documents)))

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, in float64."""
        vectors, longest = self._searched(self.stored_queries(rows)), [0.0]

        def blocks() -> Iterator[tuple[pa.Array, np.ndarray]]:
            for chunk in range(self.subject.chunks):
                array, doc_ids = self._chunk(chunk), self.subject.doc_ids(chunk)
                for start in range(0, len(array), BLOCK_ROWS):
                    block = self._searched(array[start : start + BLOCK_ROWS])
                    longest.append(float(np.linalg.norm(block, axis=1).max()))
                    yield doc_ids.slice(start, len(block)), (vectors @ block.T).astype(np.float32)

        return Scores(blocks(), lambda: ROUNDING * np.linalg.norm(vectors, axis=1) * max(longest))

    @cached_property
    def _searched(self) -> Callable[[np.ndarray], np.ndarray]:
        """Convert stored vectors to those that are searched: compressed in a variant, of length 1 for the cosine; float64."""
        cosine = (self.settings.similarity or self._card()["similarity"]) == "cosine"
        if not self.settings.variant_of:
            return partial(_scaled, cosine=cosine)
        stored = _stored(self.settings, [self._chunk(chunk) for chunk in range(self.subject.chunks)], cosine=cosine)
        return lambda vectors: _scaled(stored(vectors), cosine=cosine and self.settings.vectors != "binary")

    def _card(self) -> Mapping[str, Any]:
        """Return what the files of the model say, as it was recorded."""
        pattern = TRAINED_MODEL_RECORD if self.settings.train else MODEL
        card = read_json(self.subject.results / pattern(**self.names)).get("card")
        if not isinstance(card, dict) or card.get("similarity") not in ("dot", "cosine"):
            raise ValueError("the record of the model does not say the similarity")
        return card

    def _chunk(self, chunk: int) -> np.ndarray:
        return self._array(CHUNK_VECTORS(**self.names, chunk=chunk))

    def _array(self, path: str) -> np.ndarray:
        array = np.load(self.subject.file(path), mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype != np.float32:
            raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}")
        return array

    def _encoding(self) -> EncoderSettings:
        """Return the settings of the model that was trained, which is in the results, or of the auditor's model."""
        if self.settings.train:
            return next_to_record(self.settings.trained.encoding, self.subject.results / TRAINED_MODEL_RECORD(**self.names))
        return self.subject.with_model_of_here(self.settings.encoding, ENCODER_PLACE)


@lru_cache(maxsize=2)
def _encoder(settings: EncoderSettings, kind: Kind, *, device: str, precision: str, token_budget: int | str) -> Encoder:
    """Load the encoder of a system, which serves one corpus after the other."""
    return load_encoder(settings, kind, device=device, precision=precision, token_budget=token_budget)


def _stored(settings: DenseSettings, files: list[np.ndarray], *, cosine: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Compress the vectors of a variant as they are searched, in a second implementation."""

    def kept(vectors: np.ndarray) -> np.ndarray:
        return _scaled(vectors[:, : settings.stored_dimensions], cosine=cosine).astype(np.float32)

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


def _scaled(vectors: np.ndarray, *, cosine: bool) -> np.ndarray:
    """Convert vectors to float64; for the cosine as search rounds them, to length 1 in float32."""
    exact = vectors.astype(np.float64)
    if cosine:
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-60)
        exact = exact.astype(np.float32).astype(np.float64)
    return exact
