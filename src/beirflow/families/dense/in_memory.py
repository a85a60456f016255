"""Exact dense search in memory, with an encoder or with given vectors: the hits of a dense system, without its files."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from beirflow.core.errors import ConfigError, DataError, ModelError
from beirflow.core.progress import silence
from beirflow.data.document_text import TITLE_END, Kind, document_text
from beirflow.data.sources.json_lines import short
from beirflow.ranking.ranking import Cut, byte_order, no_hits, rank_hits
from beirflow.ranking.run_rows import ids_as_texts
from beirflow.ranking.searched import places_of

CHUNK_BYTES = 1 << 28
"""Bytes of the vectors of documents that are encoded before they are searched."""

NAME: dict[Kind, str] = {"documents": "document", "queries": "query"}
SOURCE: dict[Kind, str] = {"documents": "corpus", "queries": "queries"}  # the argument that they come in
SIMILARITIES = ("dot", "cosine")
DEVICES = ("auto", "cuda", "mps", "cpu")


@dataclass(frozen=True)
class _Texts:
    """Queries or documents, or their vectors."""

    ids: list[str]
    vectors: Callable[[int, int], np.ndarray]  # of the rows from the first to before the second, float32 of shape (rows, dim)


def search(
    encoder: Any,
    corpus: Any,
    queries: Any,
    k: int = 1000,
    *,
    similarity: Literal["dot", "cosine"] | None = None,
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto",
    batch: int = 4096,
    drop_self_matches: bool = False,
) -> pd.DataFrame:
    """Search a corpus exactly with an encoder, and rank as every dense system of beirflow does.

    A score is the dot product or the cosine of two vectors, summed in float64 and rounded to float32; no document is left out
    whose score may reach the k-th. Documents rank by score, and equal scores by the id, both descending, ids in byte order.
    Documents are encoded and searched in chunks of 256 MiB of vectors, so memory does not grow with the corpus.

    Args:
        encoder: An object with ``encode_query`` and ``encode_document``, as sentence-transformers has them, with
            ``encode_queries`` and ``encode_corpus`` as beir, or with ``encode``: from a list of n texts to n vectors, an array or
            tensor of shape (n, dim) or a list of rows. ``None`` if corpus and queries are vectors.
        corpus: ``{id: text}`` or ``{id: {"title": title, "text": text}}``, which are joined by a space; or a pair of ids and of
            vectors, an array of shape (documents, dim), which may be a memory map. Ids are strings or integers.
        queries: ``{id: text}``, or a pair of ids and of vectors.
        k: Documents to keep for each query.
        similarity: ``dot`` or ``cosine``; None for the encoder's ``similarity_fn_name`` if it has one, as in
            sentence-transformers, else ``dot``.
        device: Where vectors are compared: a GPU where torch sees one with ``auto``. The encoder decides where it computes.
        batch: Texts that the encoder gets at once, at most 4096; where it takes ``batch_size``, it gets 128 for that.
        drop_self_matches: Leave out the document with the id of the query, for queries that are documents of the corpus.

    Returns:
        A run for :func:`beirflow.evaluate`: ``query`` and ``document``, ids as strings, ``score``, float32, and ``rank`` from 1,
        int32; sorted by query, in byte order of the ids, and rank.

    Raises:
        ModelError: torch is not installed, or the encoder fails, or gives something else than one finite vector per text.
        DataError: An id comes twice or is none, a text is none, a vector is not finite, or dimensions differ.
        ConfigError: An argument is not one of those above.

    Products of float32 are computed in float32 from now on, in this process: torch's TF32 is switched off.

    Example:
        >>> import numpy as np
        >>> corpus = (["a", "b", "c"], np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        >>> run = beirflow.search(None, corpus, (["q"], np.array([[2.0, 1.0]])), k=2)
        >>> run[["document", "score"]].values.tolist()
        [['c', 3.0], ['a', 2.0]]
    """
    _check_arguments(k=k, batch=batch, device=device)
    similarity = similarity or getattr(encoder, "similarity_fn_name", None) or "dot"
    if similarity not in SIMILARITIES:
        raise ConfigError(f"similarity: found {short(similarity)}, expected {' or '.join(map(repr, SIMILARITIES))}")
    try:
        from beirflow.families.dense.top_k import exact_top_k
        from beirflow.run.devices import compute_exactly, exact_device
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] == "torch":
            raise ModelError("search computes with torch, which is not installed: pip install 'beirflow[models]'") from error
        raise
    where = exact_device(device)
    compute_exactly()  # before the first text is encoded, so that all vectors are computed alike
    query_texts, documents = _texts(queries, "queries", encoder), _texts(corpus, "documents", encoder)
    query_ids, doc_ids = pa.array(query_texts.ids, pa.string()), pa.array(documents.ids, pa.string())
    with silence():
        query_vectors = np.concatenate([query_texts.vectors(*rows) for rows in _slices(len(query_texts.ids), batch)])
        best, rows = no_hits(), max(1, CHUNK_BYTES // (4 * query_vectors.shape[1]))
        with _bar(len(documents.ids)) as advance:
            for start, stop in _slices(len(documents.ids), rows):
                vectors = np.concatenate([documents.vectors(*each) for each in _slices(stop, batch, start)])
                advance(stop - start)
                ids = doc_ids[start:stop]
                own = places_of(query_ids, ids) if drop_self_matches else np.full(len(query_ids), -1)
                cut = Cut(k, byte_order(ids), own[:, None])
                query, row, score = exact_top_k(query_vectors, vectors, cut, similarity=similarity, device=where)
                best = rank_hits([best, (query, row + np.int32(start), score)], doc_ids, k)[:3]
    query, row, score, rank = rank_hits([best], doc_ids, k)
    order = np.argsort(byte_order(query_ids)[query], kind="stable")
    ids = {"query": query_ids.take(pa.array(query[order])), "document": doc_ids.take(pa.array(row[order]))}
    frame: pd.DataFrame = pa.table({**ids, "score": score[order], "rank": rank[order]}).to_pandas()
    return frame


def _check_arguments(*, device: str, **numbers: int) -> None:
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"{name}: found {short(value)}, expected an integer of at least 1")
    if device not in DEVICES:
        raise ConfigError(f"device: found {short(device)}, expected {', '.join(DEVICES)}")


def _texts(given: Any, kind: Kind, encoder: Any) -> _Texts:
    """Return queries or documents that are encoded when they are needed, or their vectors."""
    source = SOURCE[kind]
    if isinstance(given, Mapping):
        ids, vectors = list(given), _encoding(list(given.values()), kind, encoder)
    elif isinstance(given, tuple | list) and len(given) == 2:
        ids, vectors = list(given[0]), _given_vectors(source, *given)
    else:
        raise DataError(f"{source}: expected a mapping of texts by id, or a pair of ids and vectors; found {short(given)}")
    names = ids_as_texts(source, ids, NAME[kind])
    if not names:
        raise DataError(f"{source}: found no {NAME[kind]}, expected at least one")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{source}: the id {twice!r} comes twice; ids must be unique")

    def checked(start: int, stop: int) -> np.ndarray:
        """Return some vectors; DataError if one is not finite."""
        found = vectors(start, stop)
        finite = np.isfinite(found).all(axis=1)
        if not finite.all():
            name = names[start + int(np.argmin(finite))]
            raise DataError(f"{source}: the vector of the {NAME[kind]} {name!r} holds infinity or not-a-number; look at it")
        return found

    return _Texts(names, checked)


def _given_vectors(source: str, ids: Any, vectors: Any) -> Callable[[int, int], np.ndarray]:
    """Return what reads rows of an array of vectors."""
    from beirflow.models.encoders.own_encoder import as_vectors

    array = vectors if hasattr(vectors, "shape") else np.asarray(vectors)
    if len(array.shape) != 2 or len(array) != len(ids) or not array.shape[1]:
        raise DataError(f"{source}: expected vectors of shape ({len(ids)}, dim), as many as ids; found {tuple(array.shape)}")

    def read(start: int, stop: int) -> np.ndarray:
        """Return some vectors of the array."""
        try:
            return as_vectors(array[start:stop])
        except TypeError as error:
            raise DataError(f"{source}: the vectors cannot be compared: {error}") from error

    return read


def _encoding(values: list[Any], kind: Kind, encoder: Any) -> Callable[[int, int], np.ndarray]:
    """Return what encodes rows of texts, by the methods that a class of a configuration may have."""
    from beirflow.models.computing.arrival import NotFiniteError
    from beirflow.models.encoders.own_encoder import OwnEncoder
    from beirflow.models.settings import EncoderSettings

    if encoder is None:
        raise ConfigError(f"encoder: found None, expected an encoder, since the {kind} are texts")
    name = type(encoder).__name__
    own = OwnEncoder(EncoderSettings(name, encoder=name), kind, encoder)

    def encode(start: int, stop: int) -> np.ndarray:
        """Encode some texts."""
        texts = [_as_text(value, kind) for value in values[start:stop]]
        try:
            return np.concatenate(list(own.windows(texts, kind)))
        except NotFiniteError as error:
            found = short(document_text(*texts[error.row].split(TITLE_END)) if kind == "documents" else texts[error.row])
            raise ModelError(f"{name} gives infinity or not-a-number in the vector of the text {found}; look at it") from error

    return encode


def _as_text(value: Any, kind: Kind) -> str:
    """Return a text as an encoder of :class:`OwnEncoder` takes it: of a document title and text, still apart."""
    title, text = "", value
    if isinstance(value, Mapping) and kind == "documents":
        title, text = value.get("title") or "", value.get("text")
    if isinstance(title, str) and isinstance(text, str) and TITLE_END not in title + text:
        return document_text(title, text, TITLE_END) if kind == "documents" else text
    expected = "a text, or a mapping with 'title' and 'text'" if kind == "documents" else "a text"
    raise DataError(f"{SOURCE[kind]}: expected {expected}, found {short(value)}")


def _slices(stop: int, size: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of so many rows."""
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


@contextmanager
def _bar(documents: int) -> Iterator[Callable[[int], object]]:
    """Show the progress of a search on a terminal or in a notebook."""
    shown = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    with tqdm(total=documents, desc="search", unit=" documents", unit_scale=True, disable=not shown) as bar:
        yield bar.update
