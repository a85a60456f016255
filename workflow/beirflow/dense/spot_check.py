"""Do the stored vectors represent the texts, and does the run follow from the vectors? Checked on a sample.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, in float64 and with nothing of ``search.py``.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.datasets.document_text import as_read
from beirflow.dense.settings import DenseSettings
from beirflow.encoders.encoder import Encoder
from beirflow.encoders.load import load_encoder
from beirflow.encoders.query_lists import windows_of
from beirflow.expansions.spot_check import expansion_checks
from beirflow.files.layout import CHUNK_VECTORS, MODEL, QUERY_VECTORS, RUN, TRAINED_MODEL_RECORD
from beirflow.files.records import read_json
from beirflow.jobs.gpu_job import gpu_job
from beirflow.models.card import Kind
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from beirflow.runs.compared_ranks import compare_ranks
from beirflow.runs.drift import MOST_OTHERS, Drift, drift_of_scores, unless_moved
from beirflow.runs.spot_check import MODEL_PLACE, Finding, SpotCheck, Subject, draw

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "int8": 2e-1, "unknown": 5e-2}
"""By precision, the length of the difference of two vectors over the length of the stored one.

Wider than what was measured, because devices and larger models differ more: all-MiniLM-L6-v2 on a CPU, in other batches, at
most 8e-7 in float32, 7e-4 in float16, 5e-3 in bfloat16; against the vectors in float32, 2e-3 and 1.2e-2. paraphrase-MiniLM-L3-v2,
quantised to int8 with scales that depend on the batch: at most 1.1e-1."""

ROUNDING = 4 * 2.0**-24
"""Of a score: what float32 may differ by, over the product of the lengths of the two vectors."""

ROUNDING_OF_SCORES = 1e-5
"""A change of scores below it is no drift, whatever its direction, as the mean over the product of the lengths of two vectors."""

BLOCK_ROWS = 16_384


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a dense system on one corpus.

    Args:
        subject: The system and the corpus.
        sample: Documents and queries to draw.
        random: Draws them.

    Returns:
        Three checks: documents encoded again, queries encoded again, queries searched again; of a system that was trained,
        with the weights that it has, and before them queries written again.
    """
    vectors = _Vectors(subject, sample, random)
    folder = QUERY_VECTORS(system=_encoder_of(subject), dataset=subject.dataset).rpartition("/")[0]
    run = RUN(system=subject.system.name, dataset=subject.dataset)
    here = subject.here.settings if subject.here and subject.here.family == subject.system.family else None
    added = subject.system.settings.added
    return [
        *(expansion_checks(subject, added, here and here.added, sample, random) if added else []),
        SpotCheck("documents encoded again have the stored vectors", folder, partial(vectors.check, "documents")),
        SpotCheck("queries encoded again have the stored vectors", folder, partial(vectors.check, "queries")),
        SpotCheck("queries searched again have the recorded ranks", run, vectors.check_ranks),
    ]


def drift(stored: np.ndarray, again: np.ndarray, others: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Drift | None:
    """Compare the scores of stored and of recomputed vectors with their relevant counterparts.

    Args:
        stored: Stored vectors, shape (n, dim).
        again: The same, recomputed.
        others: Vectors of the other kind of text, shape (m, dim).
        rows: Relevant pairs: rows of ``stored``.
        columns: Their rows of ``others``.

    Returns:
        The drift; None where too little is judged, or where there is nothing else to compare with.
    """
    lengths = np.linalg.norm(stored, axis=1, keepdims=True) * np.linalg.norm(others, axis=1)
    changed = ((stored.astype(np.float64) - again) @ others.astype(np.float64).T) / np.maximum(lengths, 1e-30)
    return drift_of_scores(changed, rows, columns, ROUNDING_OF_SCORES)


class _Vectors:
    """The vectors of one system for one corpus, and what is drawn of them."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: DenseSettings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)

    def check(self, kind: Kind) -> Finding:
        """Encode some documents or queries again and compare them with the stored vectors."""
        table, stored = self._drawn_documents() if kind == "documents" else self._drawn_queries()
        again = self._encode(kind, table["text"].to_pylist())
        apart = np.linalg.norm(again - stored, axis=1) / np.maximum(np.linalg.norm(stored, axis=1), 1e-30)
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        found = f"{self.subject.name}: {len(stored)} {kind}, at most {apart[worst]:.1e} of a vector's length apart"
        if not apart[worst] <= within:
            return Finding(False, f"{found}, {table[0][worst].as_py()!r}", f"at most {within:.0e} in {self._precision}")
        finding = Finding(True, found, f"at most {within:.0e} in {self._precision}")
        return unless_moved(finding, self._drift(kind, table[0].combine_chunks(), stored, again))

    def _drift(self, kind: str, ids: pa.Array, stored: np.ndarray, again: np.ndarray) -> Drift | None:
        """Whether what was drawn was moved towards what it is relevant to, or away; None where too little is judged."""
        own, other = ("doc_id", "query_id") if kind == "documents" else ("query_id", "doc_id")
        there, vectors = self._vectors_of(other, self.subject.relevant_to(own, ids, MOST_OTHERS))
        return drift(stored, again, vectors, *self.subject.pairs_among(own, ids, there))

    def _vectors_of(self, kind: str, ids: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """Those of some queries or documents that are here, and their stored vectors."""
        if kind == "query_id":
            there, here = self.subject.queries_among(ids)
            return there, np.asarray(self._array(self._path())[here])
        there, rows = self.subject.documents_among(ids)
        return there, np.concatenate([array[here] for array, here in zip(self._files(), rows, strict=True)])

    def check_ranks(self) -> Finding:
        """Search some queries again over all stored vectors and compare with the run."""
        vectors, files = self._array(self._path()), self._files()
        rows = draw(len(vectors), self.sample, self.random)
        ids = self.subject.queries()["query_id"].take(rows).to_pylist()
        cosine = (self.settings.similarity or self._card()["similarity"]) == "cosine"
        stored = _stored(self.settings, files, cosine=cosine) if self.settings.variant_of else np.asarray
        cosine = cosine and self.settings.vectors != "binary"
        queries, longest = _scaled(stored(vectors[rows]), cosine=cosine), [0.0]

        def blocks() -> Iterator[tuple[pa.Array, np.ndarray]]:
            for chunk, array in enumerate(files):
                doc_ids = self.subject.doc_ids(chunk)
                for start in range(0, len(array), BLOCK_ROWS):
                    block = _scaled(stored(array[start : start + BLOCK_ROWS]), cosine=cosine)
                    longest.append(float(np.linalg.norm(block, axis=1).max()))
                    yield doc_ids.slice(start, len(block)), (queries @ block.T).astype(np.float32)

        return compare_ranks(self.subject, ids, blocks(), lambda: ROUNDING * np.linalg.norm(queries, axis=1) * max(longest))

    @property
    def _precision(self) -> str:
        return self.subject.precision(TOLERANCE)

    def _card(self) -> Mapping[str, Any]:
        """What the files of the model say, as it was recorded."""
        pattern = TRAINED_MODEL_RECORD if self.settings.train else MODEL
        card = read_json(self.subject.results / pattern(**self._names)).get("card")
        if not isinstance(card, dict) or card.get("similarity") not in ("dot", "cosine"):
            raise ValueError("the record of the model does not say the similarity")
        return card

    def _path(self, chunk: int | None = None) -> str:
        return QUERY_VECTORS(**self._names) if chunk is None else CHUNK_VECTORS(**self._names, chunk=chunk)

    @property
    def _names(self) -> dict[str, Any]:
        return {"system": _encoder_of(self.subject), "dataset": self.subject.dataset}

    def _array(self, path: str) -> np.ndarray:
        array = np.load(self.subject.file(path), mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype != np.float32:
            raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}")
        return array

    def _files(self) -> list[np.ndarray]:
        return [self._array(self._path(chunk)) for chunk in range(self.subject.chunks)]

    def _drawn_documents(self) -> tuple[pa.Table, np.ndarray]:
        """Some documents and their stored vectors."""
        rows = self.subject.draw_documents(self.sample, self.random)
        stored = [np.asarray(array[here]) for array, here in zip(self._files(), rows, strict=True)]
        return as_read(self.subject.take_documents(rows), self._encoding().between), np.concatenate(stored)

    def _drawn_queries(self) -> tuple[pa.Table, np.ndarray]:
        """Some queries and their stored vectors."""
        vectors = self._array(self._path())
        rows = draw(len(vectors), self.sample, self.random)
        return self.subject.queries().take(rows), np.asarray(vectors[rows])

    def _encode(self, kind: Kind, texts: list[str]) -> np.ndarray:
        settings, config = self._encoding(), self.subject.config
        with gpu_job(config["device"], config["jobs_per_gpu"]):
            precision = "auto" if settings.has_own_precision else self._precision
            encoder = _encoder(settings, kind, config["device"], precision, config["token_budget"])
            return np.concatenate([vectors for _, vectors in windows_of(encoder, texts, kind)])

    def _encoding(self) -> EncoderSettings:
        """What encodes: the model that was trained, which is in the results, or the one that the person who audits names."""
        if self.settings.train:
            return next_to_record(self.settings.trained.encoding, self.subject.results / TRAINED_MODEL_RECORD(**self._names))
        return self.subject.with_model_of_here(self.settings.encoding, _PLACE)


_PLACE = (*MODEL_PLACE, "query_model", "query_revision", "encoder", "arguments")
"""Settings that are those of the person who audits."""


@lru_cache(maxsize=2)
def _encoder(settings: EncoderSettings, kind: Kind, device: str, precision: str, token_budget: int | str) -> Encoder:
    """The encoder of a system, which serves one corpus after the other."""
    return load_encoder(settings, kind, device=device, precision=precision, token_budget=token_budget)


def _encoder_of(subject: Subject) -> str:
    return subject.system.settings.variant_of or subject.system.name


def _stored(settings: DenseSettings, files: list[np.ndarray], *, cosine: bool) -> Callable[[np.ndarray], np.ndarray]:
    """The stored form of a variant's vectors, in a second implementation, like the search here."""

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
    """Vectors in float64; for the cosine as search rounds them, to length 1 in float32."""
    exact = vectors.astype(np.float64)
    if cosine:
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-60)
        exact = exact.astype(np.float32).astype(np.float64)
    return exact
