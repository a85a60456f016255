"""A ready-made encoder class for servers that speak OpenAI's embedding protocol.

Examples are vLLM, llama.cpp, Ollama, text-embeddings-inference, OpenAI and other services. In ``custom.systems``::

    my-server:
      encoder: beirflow.models.embedding_server:EmbeddingServer
      arguments: {url: "http://localhost:8000/v1", model: BAAI/bge-m3, key_variable: MY_KEY}
      similarity: cosine

It is also the example for a class of your own: a constructor with plain arguments, ``encode_queries`` and ``encode_corpus``.
"""

import base64
import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beirflow.data.document_text import document_text
from beirflow.models.json_server import JsonServer, TooLargeError

logger = logging.getLogger(__name__)

ANSWER_BYTES = 1 << 20  # most bytes of an answer for each text, and once more: a vector of 16,384 numbers has less than half


@dataclass(kw_only=True, repr=False, eq=False)  # its address may hold a password
class EmbeddingServer:
    """An encoder that asks a server.

    An empty text is not sent, since some servers refuse it: its vector is zeros.
    """

    url: str  # base address of the protocol, usually ending in ``/v1``; ``/embeddings`` is added
    model: str  # name of the model on the server
    query_url: str | None = None  # address of the server of queries, if it is another one
    query_model: str | None = None  # name of the model of queries, if it is another one
    query_prefix: str = ""  # text before every query
    document_prefix: str = ""  # text before every document
    dimensions: int | None = None  # requested dimensions; None to leave them to the server
    # name of the environment variable that holds the key, which is in no record and no log; None without a key
    key_variable: str | None = None
    batch_texts: int = 64  # texts of a request
    requests_at_once: int = 4  # concurrent requests
    attempts: int = 8  # attempts before the failure of a request is one of the job
    timeout: float = 120.0  # seconds without a byte after which a request has failed; a whole answer has five times as long

    def __post_init__(self) -> None:
        self._server = JsonServer(
            self.url, "embeddings", key_variable=self.key_variable, attempts=self.attempts, timeout=self.timeout
        )
        self._body: dict[str, Any] = {"model": self.model, "encoding_format": "float"}
        if self.dimensions is not None:
            self._body["dimensions"] = self.dimensions
        self._threads = ThreadPoolExecutor(max_workers=self.requests_at_once)
        self._of_queries = self
        if self.query_url or self.query_model:
            url, model = self.query_url or self.url, self.query_model or self.model
            self._of_queries = replace(self, url=url, model=model, query_url=None, query_model=None)

    def encode_queries(self, queries: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim)."""
        return self._of_queries._encode([self.query_prefix + query for query in queries])

    def encode_corpus(self, corpus: Sequence[Mapping[str, str]]) -> np.ndarray:
        """Encode n documents, each with ``title``, which may be empty, and ``text``: float32 of shape (n, dim)."""
        texts = (document_text(document["title"], document["text"]) for document in corpus)
        return self._encode([self.document_prefix + text for text in texts])

    def _encode(self, texts: list[str]) -> np.ndarray:
        sent = [row for row, text in enumerate(texts) if text.strip()]
        if not sent:
            return np.zeros((len(texts), len(self._ask(["dimensions"])[0])), dtype=np.float32)
        batches = [sent[start : start + self.batch_texts] for start in range(0, len(sent), self.batch_texts)]
        answers = self._joined(self._threads.map(lambda rows: self._ask([texts[row] for row in rows]), batches))
        vectors = np.zeros((len(texts), answers.shape[1]), dtype=np.float32)
        vectors[sent] = answers
        return vectors

    def _joined(self, answers: Iterable[np.ndarray]) -> np.ndarray:
        """Concatenate the vectors of several answers; their dimensions must be equal."""
        arrays = list(answers)
        widths = sorted({array.shape[1] for array in arrays})
        if len(widths) > 1:
            raise self._server.wrong(f"vectors of {widths[0]} and of {widths[-1]} dimensions; is it one model that answers?")
        return np.concatenate(arrays)

    def _ask(self, texts: list[str]) -> np.ndarray:
        """Encode texts in as many requests as necessary."""
        if len(texts) <= self.batch_texts:
            try:
                held = self._server.ask({**self._body, "input": texts}, ANSWER_BYTES * (len(texts) + 1))
                return self._vectors(held, len(texts))
            except TooLargeError:
                if len(texts) == 1:
                    raise
                self.batch_texts = min(self.batch_texts, len(texts) // 2)
                logger.info(
                    "%s: %d texts are too many; asking for %d at a time", self._server.shown, len(texts), self.batch_texts
                )
        size = self.batch_texts
        return self._joined(self._ask(texts[start : start + size]) for start in range(0, len(texts), size))

    def _vectors(self, held: Any, count: int) -> np.ndarray:
        """Read the vectors of an answer, one per text, in the order of the texts."""
        try:
            rows = held["data"]
            # Servers may answer in any order; the index is that of the text.
            by_index = {_integer(row["index"]): _numbers(row["embedding"]) for row in rows}
            vectors = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise self._server.wrong(f"the answer holds no vector for each text ({type(error).__name__}: {error})") from error
        if len(rows) != count or vectors.ndim != 2:
            raise self._server.wrong(f"{len(rows)} vectors for {count} texts, of shape {vectors.shape}")
        if not (present := vectors.any(axis=1)).all():
            what = f"text {int(np.argmin(present))} of {count}, which is not empty"
            raise self._server.wrong(f"a vector of zeros for {what}; has the model been loaded, and does it read this language?")
        if self.dimensions not in (None, vectors.shape[1]):
            raise self._server.wrong(
                f"vectors of {vectors.shape[1]} dimensions, asked for {self.dimensions}; leave dimensions out"
            )
        return vectors


def _numbers(embedding: Any) -> Any:
    """Return the numbers of a vector; some servers always use OpenAI's base64: float32, little-endian."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    # Texts of digits and booleans would become numbers.
    others = [number for number in embedding if type(number) not in (int, float)]
    if others:
        raise TypeError(f"expected numbers, found {others[0]!r:.40}")
    return embedding


def _integer(index: Any) -> int:
    """Return the index of a vector."""
    if type(index) is not int:
        raise TypeError(f"expected a whole number as index, found {index!r:.40}")
    return index
