"""Encode the queries or one chunk of a corpus, and record how."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.core.records import Job, together
from beirflow.core.writing import DigestingWriter
from beirflow.data.corpus_files import sources_of
from beirflow.data.document_text import Kind
from beirflow.families.dense.reuse import SharedVectors, find_vectors
from beirflow.families.dense.vectors import VectorWriter
from beirflow.families.represent import Texts, document_texts, query_texts, represent
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import windows_of
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings

logger = logging.getLogger(__name__)

Write = Callable[[np.ndarray], None]

Encoding: TypeAlias = Computing[EncoderSettings]  # settings of a job that encodes texts


def encode_queries(*, queries_path: str, output_path: str, encoding: Encoding, job: Job) -> None:
    """Encode the queries of a dataset, each distinct text once.

    ``output_path`` is the ``.npy`` to write, float32 of shape (queries, dim), in the order of the table, beside its record.
    Raises ModelError for a model that cannot be loaded or computes a value that is not finite, DeviceError for a failing or too
    small GPU, DataError for a file that is not the recorded one.
    """
    _encode_texts(query_texts(queries_path), output_path, encoding, job)


def encode_chunk(
    *, documents_path: str, chunk: int, output_path: str, encoding: Encoding, job: Job, shared_paths: Sequence[str] = ()
) -> None:
    """Encode one chunk of a corpus, like :func:`encode_queries`.

    ``shared_paths`` are the files of another dataset with the same texts, as for ``find_vectors``; else
    empty. Only the other texts are encoded, and only they count as distinct texts, tokens and truncated texts in the record.
    Raises DataError also if the vectors of the other dataset cannot be reused.
    """
    shared = None
    # Texts are matched as they are joined by a space; another separator may tell equal ones apart.
    if shared_paths and encoding.settings.title_separator is None:
        name, model_path = encoding.settings.name, encoding.model_path
        shared = find_vectors(shared_paths, chunk, system=name, documents_path=documents_path, model_path=model_path, job=job)
    _encode_texts(document_texts(documents_path, chunk, encoding.settings.between), output_path, encoding, job, shared)


def _encode_texts(texts: Texts, output_path: str, encoding: Encoding, job: Job, shared: SharedVectors | None = None) -> None:
    """Encode texts, and record how; if all vectors are shared, no model is loaded."""
    encoding = replace(encoding, settings=next_to_record(encoding.settings, encoding.model_path))
    encoding.use_threads()
    inputs = sources_of(job, texts.source_path, encoding.model_path) | (shared.inputs() if shared else {})
    nothing_to_encode = shared is not None and not shared.missing.any()

    def load() -> Encoder | None:
        if shared and encoding.precision != "auto" and not encoding.settings.has_own_precision:
            shared.check_precision(encoding.precision)
        if nothing_to_encode:
            return None
        with checked_meanwhile(partial(check_model, encoding.settings, encoding.model_path)):
            encoder = load_encoder(encoding.settings, texts.kind, **encoding.on)
        if shared:
            shared.check_precision(encoder.made()["precision"])
        return encoder

    def compute(encoder: Encoder | None, stream: DigestingWriter) -> dict[str, Any]:
        write = VectorWriter(stream, texts.table.num_rows).write
        if shared:
            return _encode_missing(encoder, texts, encoding.settings.name, shared, write)
        return {} if encoder is None else _encode(encoder, texts, encoding.settings.name, write)

    represent(
        texts,
        output_path,
        job,
        system=encoding.settings.name,
        inputs=inputs,
        gpu=nullcontext() if nothing_to_encode else encoding.gpu(saves_memory="lower token_budget or max_length"),
        load=load,
        compute=compute,
    )


def _encode_missing(encoder: Encoder | None, texts: Texts, system: str, shared: SharedVectors, write: Write) -> dict[str, Any]:
    """Reuse the vectors that are shared and encode the missing texts; return the facts for the record."""
    vectors, facts = shared.gather(), shared.nothing_encoded()
    if encoder is not None:
        parts: list[np.ndarray] = []
        facts = _encode(encoder, texts.filter(shared.missing), system, parts.append)
        facts.pop("computation", None)  # that of a part
        vectors[shared.missing] = np.concatenate(parts)
    write(vectors)
    made = together([facts["made"], *shared.made()])
    return facts | {"made": made, "counts": {**facts["counts"], "documents_reused": int((~shared.missing).sum())}}


def _encode(encoder: Encoder, texts: Texts, system: str, write: Write) -> dict[str, Any]:
    """Encode texts and write their vectors, in order; return the facts for the record."""
    distinct, indices = texts.distinct()
    made, alike = encoder.made(), _Alike()
    try:
        for vectors in in_rows(windows_of(encoder, distinct, texts.kind), indices, encoder.dim):
            alike.add(vectors)
            write(vectors)
    except NotFiniteError as error:
        name = texts.name_of(error.row)
        lower = made["precision"] in ("float16", "bfloat16")
        todo = "use precision float32, or look at its text" if lower else "look at its text"
        raise ModelError(f"system {system}: the vector of {name} holds infinity or not-a-number; {todo}") from error
    counts = {"tokens": encoder.tokens, f"truncated_{texts.kind}": encoder.truncated}
    alike.warn(system, texts.kind, len(distinct))
    return {
        "distinct_texts": len(distinct),
        "dim": encoder.dim,
        "made": made,
        **({"computation": computation} if (computation := encoder.computation()) else {}),
        "encoder": encoder.described(),
        "counts": {name: count for name, count in counts.items() if count is not None},
    }


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
