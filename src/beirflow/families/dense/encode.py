"""Encode the queries or one chunk of a corpus, and record how."""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import Kind
from beirflow.families.dense.reuse import SharedTexts, SharedVectors, find_vectors
from beirflow.families.dense.vectors import Vectors
from beirflow.families.texts import Texts, in_rows, represented
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
        """Load the encoder; check that it has the precision of the reused vectors."""
        encoder = load()
        reused.check_precision(encoder.made()["precision"])
        return encoder

    encoded = _encode(Texts.of("documents", table.filter(pa.array(reused.missing))), encoding, load_alike)

    def vectors() -> Iterator[np.ndarray]:
        """Yield the vectors of all texts, reused and new."""
        start = time.perf_counter()
        gathered = reused.gather()
        seconds = time.perf_counter() - start
        if reused.missing.any():
            gathered[reused.missing] = np.concatenate(list(encoded.content[1]))
        yield gathered
        made.fields |= reused.fields(encoded.fields, seconds)

    made = Made((table.num_rows, vectors()))
    return made


def _encode(texts: Texts, encoding: Encoding, load: Callable[[], Encoder]) -> Made:
    """Encode texts while their vectors are written."""

    def encode(encoder: Encoder) -> Generator[np.ndarray, None, dict[str, Any]]:
        """Yield the vectors of the texts window by window; return fields of the record."""
        first, are_alike, windows = None, True, windows_of(encoder, texts.different, texts.kind)
        for vectors in in_rows(windows, texts.indices, count=len, one=lambda found, row: found[[row]], together=np.concatenate):
            first = vectors[0].copy() if first is None else first
            are_alike = are_alike and bool((vectors == first).all())
            yield vectors
        if first is None:
            yield np.empty((0, encoder.dim), np.float32)
        elif are_alike and len(texts.different) > 1:
            what = f"{len(texts.different)} different {texts.kind} are all {'the same one' if first.any() else 'zero'}"
            logger.warning("%s: the vectors of %s; the ids alone rank them", encoding.settings.name, what)
        return {"dim": encoder.dim, "encoder": encoder.described()}

    made = represented(texts, encoding, load, encode)
    made.content = len(texts.table), made.content
    return made


def _load(encoding: Encoding, kind: Kind) -> Encoder:
    """Load the encoder of one kind of text, while the digests of its files are compared."""
    settings = next_to_record(encoding.settings, encoding.model_path)
    with checked_meanwhile(partial(check_model, settings, encoding.model_path)):
        return load_encoder(settings, kind, **encoding.on)
