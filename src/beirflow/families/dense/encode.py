"""Encode the queries or one chunk of a corpus, and record how."""

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import Kind
from beirflow.families.dense.reuse import SharedTexts, SharedVectors, find_vectors
from beirflow.families.dense.vectors import Vectors
from beirflow.families.texts import Texts, represented
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import windows_of
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.models.model_record import ModelRecord
from beirflow.models.settings import EncoderSettings

logger = logging.getLogger(__name__)

Encoding: TypeAlias = Computing[EncoderSettings]  # settings of a job that encodes texts


@step(Vectors, stage="queries")
def encode_queries(queries: Queries, model: ModelRecord, encoding: Encoding) -> Made:
    """Encode the queries of a dataset: float32 of shape (queries, dim), in the order of the table.

    Raises ModelError for a model that cannot be loaded or computes a value that is not finite, DeviceError for a failing or too
    small GPU, DataError for a model that is not the recorded one.
    """
    texts = Texts.of("queries", queries.read(["query_id", "text"]))
    return _encode(texts, encoding, partial(_load, encoding, "queries"))


@step(Vectors, stage="index")
def encode_chunk(
    documents: Documents,
    model: ModelRecord,
    shared_texts: SharedTexts | None,
    shared_vectors: Sequence[SharedVectors],
    chunk: int,
    encoding: Encoding,
) -> Made:
    """Encode one chunk of a corpus, like :func:`encode_queries`.

    Of texts that another dataset has, too, its vectors are reused. Only the other texts are encoded, and only they count as
    distinct texts, tokens and truncated texts in the record. Raises DataError also if vectors cannot be reused.
    """
    table, load = documents.texts(chunk, encoding.settings.between), partial(_load, encoding, "documents")
    if shared_texts is None:
        return _encode(Texts.of("documents", table), encoding, load)
    reused = find_vectors(shared_texts, shared_vectors, chunk)
    if encoding.precision != "auto" and not encoding.settings.has_own_precision:
        reused.check_precision(encoding.precision)

    def load_alike() -> Encoder:
        encoder = load()
        reused.check_precision(encoder.made()["precision"])
        return encoder

    encoded = _encode(Texts.of("documents", table.filter(pa.array(reused.missing))), encoding, load_alike)

    def vectors() -> Iterator[np.ndarray]:
        start = time.perf_counter()
        gathered = reused.gather()
        seconds = time.perf_counter() - start
        if reused.missing.any():
            gathered[reused.missing] = np.concatenate(list(encoded.content[1]))
        yield gathered
        made.facts |= reused.facts(encoded.facts, seconds)

    made = Made((table.num_rows, vectors()))
    return made


def _encode(texts: Texts, encoding: Encoding, load: Callable[[], Encoder]) -> Made:
    """Encode texts while their vectors are written."""

    def encode(encoder: Encoder) -> Generator[np.ndarray, None, dict[str, Any]]:
        alike = _Alike()
        for vectors in in_rows(windows_of(encoder, texts.different, texts.kind), texts.indices, encoder.dim):
            alike.add(vectors)
            yield vectors
        alike.warn(encoding.settings.name, texts.kind, len(texts.different))
        return {"dim": encoder.dim, "encoder": encoder.described()}

    made = represented(texts, encoding, load, encode)
    made.content = len(texts.table), made.content
    return made


def _load(encoding: Encoding, kind: Kind) -> Encoder:
    """Load the encoder of one kind of text, while the digests of its files are compared."""
    settings = next_to_record(encoding.settings, encoding.model_path)
    with checked_meanwhile(partial(check_model, settings, encoding.model_path)):
        return load_encoder(settings, kind, **encoding.on)


class _Alike:
    """Test for a table of equal vectors: such an encoder would rank documents by their ids."""

    def __init__(self) -> None:
        self._first: np.ndarray | None = None
        self._same = True

    def add(self, vectors: np.ndarray) -> None:
        """Compare more vectors, float32 of shape (n, dim)."""
        if len(vectors) and self._first is None:
            self._first = vectors[0].copy()
        self._same = self._same and bool((vectors == self._first).all())

    def warn(self, system: str, kind: Kind, texts: int) -> None:
        """Warn if several distinct texts have one vector."""
        if texts > 1 and self._same and self._first is not None:
            what = "the same one" if self._first.any() else "zero"
            logger.warning("%s: the vectors of %d different %s are all %s; the ids alone rank them", system, texts, kind, what)


def in_rows(windows: Iterable[tuple[int, np.ndarray]], indices: np.ndarray, dim: int) -> Iterator[np.ndarray]:
    """Give every row the vector of its text, as soon as that exists: float32 of shape (n, dim) for the next n rows.

    ``windows`` are the vectors of the distinct texts, in order, with the index of the first text, ``indices`` the number of each
    row's text, integers of shape (rows,), which appear in ascending order for the first time.
    """
    repeated = np.bincount(indices) > 1
    seen = np.maximum.accumulate(indices)
    kept: dict[int, np.ndarray] = {}
    row = 0
    for start, vectors in windows:
        # Copies, so that the rest of the window can be freed.
        kept |= {start + i: vectors[i].copy() for i in np.flatnonzero(repeated[start : start + len(vectors)]).tolist()}
        end = int(np.searchsorted(seen, start + len(vectors)))
        numbers = indices[row:end]
        block = vectors[np.maximum(numbers - start, 0)]
        for place in np.flatnonzero(numbers < start).tolist():
            block[place] = kept[int(numbers[place])]
        yield block
        row = end
    if not len(indices):
        yield np.empty((0, dim), dtype=np.float32)
