"""Title and text of a document: joined as a corpus stores them and as a model reads them, and apart again."""

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["queries", "documents"]  # kind of text: each has a prompt of its own, and may have a model of its own

KINDS: tuple[Kind, Kind] = ("queries", "documents")

TITLE_END = "\ufdd0"
"""Separator between title and text of documents whose parts a user's class gets apart. No text has it: Unicode reserves it."""


def document_text(title: str, text: str, separator: str = " ") -> str:
    """Join title and text as the beir package and MTEB do, without white space at the ends.

    The separator is written even if the title is empty. With ``TITLE_END``, both parts stay as they are, for
    :func:`title_and_text`.
    """
    joined = f"{title}{separator}{text}"
    return joined if separator == TITLE_END else joined.strip()


def title_and_text(marked: str) -> tuple[str, str]:
    """Undo :func:`document_text` with ``TITLE_END`` as separator; an empty title if there is no ``TITLE_END``."""
    title, end, text = marked.partition(TITLE_END)
    return (title, text) if end else ("", title)


def joined_text(title: str | None, text: str) -> str:
    """Join a title, None or empty where there is none, and a text as systems see them: with a space, or the text alone.

    This is Contriever's recipe, and the one place where the two are joined.
    """
    return f"{title} {text}" if title else text


def as_read(documents: pa.Table, separator: str | None = None) -> pa.Table:
    """Return ``doc_id`` and ``text`` of documents as models read them: :func:`document_text` of every row.

    Tokenizers of bytes, such as RoBERTa's, ModernBERT's and those of decoders, read a line feed at the end as a token. A
    separator other than the space needs ``title_bytes``, and Python for each row.
    """
    joined = documents["text"]
    if separator is not None:
        texts = separated(joined.combine_chunks(), documents["title_bytes"].to_numpy(), separator)
    else:
        texts = pc.utf8_trim_whitespace(joined)
    return pa.table({"doc_id": documents["doc_id"], "text": texts})


def separated(joined: pa.Array, title_bytes: np.ndarray, separator: str) -> pa.Array:
    """Return n texts of :func:`joined_text` with another separator, which is also written where a title is missing.

    ``title_bytes``, integers of shape (n,), are the bytes of each that are the title.
    """
    titles, texts = split_title_and_text(joined, title_bytes)
    pairs = zip(titles.to_pylist(), texts.to_pylist(), strict=True)
    return pa.array([document_text(title, own_text(title, text), separator) for title, text in pairs], joined.type)


def split_title_and_text(joined: pa.Array, title_bytes: np.ndarray) -> tuple[pa.Array, pa.Array]:
    """Undo :func:`joined_text`, but for the separator, which stays before the text.

    ``joined`` are n texts, large_string without null, ``title_bytes`` the bytes of each that are the title. Returns n titles,
    empty where there is none, and n texts, each with a space before it where there is a title.
    """
    _, offsets, data = joined.buffers()
    bounds = np.frombuffer(offsets, np.int64)[joined.offset : joined.offset + len(joined) + 1]
    # Two pieces a document share the buffer of the texts, so that nothing is copied.
    cuts = np.empty(2 * len(joined) + 1, np.int64)
    cuts[::2] = bounds
    cuts[1::2] = bounds[:-1] + title_bytes
    pieces = pa.Array.from_buffers(joined.type, 2 * len(joined), [None, pa.py_buffer(cuts), data])
    even = pa.array(np.arange(0, 2 * len(joined), 2))
    return pieces.take(even), pieces.take(pc.add(even, 1))


def own_text(title: str, text: str) -> str:
    """Return the text of a document as its source has it, from a title and a text of :func:`split_title_and_text`."""
    return text[1:] if title else text
