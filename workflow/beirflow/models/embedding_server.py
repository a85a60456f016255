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
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import requests

from beirflow.datasets.document_text import document_text
from beirflow.files.addresses import (
    address_below,
    keep_secrets_of,
    shown,
    with_variables,
    without_credentials,
    without_known_secrets,
)
from beirflow.files.errors import ModelError
from beirflow.files.outside_json import parse_json

logger = logging.getLogger(__name__)

BUSY = (408, 409, 425, 429)
"""Statuses of a server that will answer later; so will one that says a status from 500 on."""

TOO_LARGE = 413
"""Status of a server that takes fewer texts at once, such as text-embeddings-inference with more than 32."""

PASSING = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)
"""Errors of a connection that may be gone at the next attempt."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before the second attempt, doubled for each one after it."""

NUMBER = re.compile("[0-9]{1,12}")
"""Seconds in a header."""

LONGEST_RETRY_AFTER = 600.0
"""Seconds that a server may ask to wait; where it wants more, such as the rest of a day, the job ends and says so."""

ANSWER_BYTES = 1 << 20
"""Most bytes of an answer for each text, and once more: a vector of 16,384 numbers has less than half."""


class _TooLargeError(Exception):
    """A request has more texts than the server takes."""


class _LaterError(Exception):
    """A failed attempt that may succeed later, with the seconds that the server asks to wait."""

    def __init__(self, problem: str, seconds: float = 0.0) -> None:
        super().__init__(problem)
        self.seconds = seconds


class _Key(requests.auth.AuthBase):
    """The key in the header of a request, instead of the entry of a .netrc for the host."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


@dataclass(kw_only=True, repr=False, eq=False)  # its address may hold a password
class EmbeddingServer:
    """An encoder that asks a server.

    An empty text is not sent, since some servers refuse it: its vector is zeros.

    Attributes:
        url: Base address of the protocol, usually ending in ``/v1``; ``/embeddings`` is added.
        model: Name of the model on the server.
        query_prefix: Text before every query.
        document_prefix: Text before every document.
        dimensions: Requested dimensions; None to leave them to the server.
        key_variable: Name of the environment variable that holds the key, which is in no record and no log; None without a key.
        batch_texts: Texts of a request.
        requests_at_once: Concurrent requests.
        attempts: Attempts before the failure of a request is one of the job.
        timeout: Seconds without a byte after which a request has failed.
    """

    url: str
    model: str
    query_prefix: str = ""
    document_prefix: str = ""
    dimensions: int | None = None
    key_variable: str | None = None
    batch_texts: int = 64
    requests_at_once: int = 4
    attempts: int = 8
    timeout: float = 120.0

    def __post_init__(self) -> None:
        """Open a session."""
        keep_secrets_of(self.url)
        self._url = address_below(self.url, "embeddings")
        self._body: dict[str, Any] = {"model": self.model, "encoding_format": "float"}
        if self.dimensions is not None:
            self._body["dimensions"] = self.dimensions
        self._session = requests.Session()
        if self.key_variable is not None:
            self._session.auth = _Key(with_variables(f"${{{self.key_variable}}}").strip())
        self._threads = ThreadPoolExecutor(max_workers=self.requests_at_once)

    def encode_queries(self, queries: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim)."""
        return self._encode([self.query_prefix + query for query in queries])

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
            raise self._wrong(f"vectors of {widths[0]} and of {widths[-1]} dimensions; is it one model that answers?")
        return np.concatenate(arrays)

    def _ask(self, texts: list[str]) -> np.ndarray:
        """Encode texts in as many requests as necessary."""
        if len(texts) <= self.batch_texts:
            try:
                return self._request(texts)
            except _TooLargeError:
                self.batch_texts = min(self.batch_texts, len(texts) // 2)
                logger.info("%s: %d texts are too many; asking for %d at a time", self._shown, len(texts), self.batch_texts)
        size = self.batch_texts
        return self._joined(self._ask(texts[start : start + size]) for start in range(0, len(texts), size))

    def _request(self, texts: list[str]) -> np.ndarray:
        """Encode the texts of one request, repeating failed attempts."""
        problem = ""
        for attempt in range(self.attempts):
            try:
                return self._attempt(texts)
            except _LaterError as later:
                problem, wait = str(later), max(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT), later.seconds)
            if attempt + 1 < self.attempts:
                logger.info("%s: %s; again in %.1f s", self._shown, problem, wait)
                time.sleep(wait)
        raise self._wrong(f"{problem}, after {self.attempts} attempts; run again once the server is up")

    def _attempt(self, texts: list[str]) -> np.ndarray:
        try:
            answer, content = self._post(texts)
        except PASSING as error:
            raise _LaterError(f"no answer ({type(error).__name__})") from error
        if answer.status_code != requests.codes.ok:
            raise self._refusal(answer, content, len(texts))
        try:
            held = parse_json(content)
        except ValueError as error:
            raise _LaterError("an answer that is not JSON") from error
        return self._vectors(held, len(texts))

    def _post(self, texts: list[str]) -> tuple[requests.Response, bytes]:
        """Return the answer to one attempt, and its content, which may be endless."""
        most = ANSWER_BYTES * (len(texts) + 1)
        # Redirects are refused: they turn a POST into a GET, and may lead to another host.
        told: dict[str, Any] = {"timeout": self.timeout, "allow_redirects": False, "stream": True}
        try:
            with self._session.post(self._url, json={**self._body, "input": texts}, **told) as answer:
                content = bytearray()
                for block in answer.iter_content(1 << 16):
                    content += block
                    if len(content) > most:
                        raise self._wrong(f"an answer of more than {most:,} bytes for {len(texts)} texts")
        except PASSING:
            raise
        except (requests.RequestException, ValueError) as error:
            raise self._wrong(f"this address or its key cannot be used ({type(error).__name__})") from error
        return answer, bytes(content)

    def _refusal(self, answer: requests.Response, content: bytes, count: int) -> Exception:
        """Convert an answer without vectors to an error."""
        status = answer.status_code
        if status == TOO_LARGE and count > 1:
            return _TooLargeError()
        if status in BUSY or status >= requests.codes.server_error:
            seconds = _retry_after(answer.headers.get("Retry-After"))
            if seconds <= LONGEST_RETRY_AFTER:
                return _LaterError(f"status {status}", seconds)
            return self._wrong(f"status {status}, and asks to wait for {seconds:.0f} s; run again then, which resumes here")
        # Shortened twice: half a secret is none that is known, and to look for addresses takes long in long texts.
        said = without_known_secrets(" ".join(content.decode("utf-8", "replace").split()))[:3000]
        said = without_credentials(said)[:300]
        return self._wrong(f"status {status}, {said!r}; look at url, model, key and the length of the texts")

    def _vectors(self, held: Any, count: int) -> np.ndarray:
        """Read the vectors of an answer, one per text, in the order of the texts."""
        try:
            rows = held["data"]
            # Servers may answer in any order; the index is that of the text.
            by_index = {int(row["index"]): _numbers(row["embedding"]) for row in rows}
            vectors = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise self._wrong(f"the answer holds no vector for each text ({type(error).__name__}: {error})") from error
        if len(rows) != count or vectors.ndim != 2:
            raise self._wrong(f"{len(rows)} vectors for {count} texts, of shape {vectors.shape}")
        if self.dimensions not in (None, vectors.shape[1]):
            raise self._wrong(f"vectors of {vectors.shape[1]} dimensions, asked for {self.dimensions}; leave dimensions out")
        return vectors

    @property
    def _shown(self) -> str:
        """The address for messages."""
        return str(shown(self._url))

    def _wrong(self, problem: str) -> ModelError:
        return ModelError(f"{self._shown}: {without_credentials(problem)}")


def _numbers(embedding: Any) -> Any:
    """Return the numbers of a vector; some servers always use OpenAI's base64: float32, little-endian."""
    return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4") if isinstance(embedding, str) else embedding


def _retry_after(value: str | None) -> float:
    """Return the seconds that a server asks to wait, given as a number or a date; 0 without either."""
    if value is None:
        return 0.0
    if NUMBER.fullmatch(value.strip()):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):  # TypeError: a date without a time zone
        return 0.0
