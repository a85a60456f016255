"""A ready-made encoder class for servers that speak OpenAI's embedding protocol.

Examples are vLLM, llama.cpp, Ollama, text-embeddings-inference, OpenAI and other services. In ``custom.systems``::

    my-server:
      encoder: beirflow.models.embedding_server:EmbeddingServer
      arguments: {url: "http://localhost:8000/v1", model: BAAI/bge-m3, key_variable: MY_KEY}
      similarity: cosine

It is also the example for a class of your own: a constructor with plain arguments, ``encode_queries`` and ``encode_corpus``.
"""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import requests

from beirflow.files.errors import ModelError

logger = logging.getLogger(__name__)

AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
"""Statuses of a server that is busy, or not there for a moment."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before the second attempt, doubled for each one after it."""

LONGEST_RETRY_AFTER = 600.0
"""Seconds that a server may ask to wait; where it wants more, such as the rest of a day, the job ends and says so."""


class _Key(requests.auth.AuthBase):
    """A key in the header of a request, in place of what a .netrc says of the host."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class EmbeddingServer:
    """Encode by asking a server.

    An empty text is not sent, since some servers refuse it: its vector is zeros.

    Args:
        url: Where the protocol begins, usually ending in ``/v1``; ``/embeddings`` is added.
        model: Name of the model, as the server knows it.
        query_prefix: What is written before every query.
        document_prefix: What is written before every document.
        dimensions: How many the server is asked for; None to leave it to the server.
        key_variable: Name of the environment variable that holds the key; None for a server without one. The key itself is in no
            record and no log.
        batch_texts: Texts of a request.
        requests_at_once: Requests that are under way at a time.
        attempts: How often a request is made before its failure is one of the job.
        timeout: Seconds without a byte after which a request has failed.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        query_prefix: str = "",
        document_prefix: str = "",
        dimensions: int | None = None,
        key_variable: str | None = None,
        batch_texts: int = 64,
        requests_at_once: int = 4,
        attempts: int = 8,
        timeout: float = 120.0,
    ) -> None:
        self._url, self._batch_texts, self._attempts, self._timeout = (
            f"{url.rstrip('/')}/embeddings",
            batch_texts,
            attempts,
            timeout,
        )
        self._prefixes = query_prefix, document_prefix
        self._body: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._body["dimensions"] = dimensions
        self._session = requests.Session()
        if key_variable is not None:
            if not os.environ.get(key_variable):
                raise ModelError(f"the environment variable {key_variable} with the key of {url} is not set")
            self._session.auth = _Key(os.environ[key_variable])
        self._threads = ThreadPoolExecutor(max_workers=requests_at_once)

    def encode_queries(self, queries: Sequence[str]) -> np.ndarray:
        """Encode n queries.

        Args:
            queries: Their texts.

        Returns:
            float32 of shape (n, dim).
        """
        return self._encode([self._prefixes[0] + query for query in queries])

    def encode_corpus(self, corpus: Sequence[Mapping[str, str]]) -> np.ndarray:
        """Encode n documents.

        Args:
            corpus: A title, which may be empty, and a text of each.

        Returns:
            float32 of shape (n, dim).
        """
        texts = (f"{document['title']} {document['text']}".strip() for document in corpus)
        return self._encode([self._prefixes[1] + text for text in texts])

    def _encode(self, texts: list[str]) -> np.ndarray:
        sent = [row for row, text in enumerate(texts) if text.strip()]
        if not sent:
            return np.zeros((len(texts), len(self._ask(["dimensions"])[0])), dtype=np.float32)
        batches = [sent[start : start + self._batch_texts] for start in range(0, len(sent), self._batch_texts)]
        answers = list(self._threads.map(lambda rows: self._ask([texts[row] for row in rows]), batches))
        vectors = np.zeros((len(texts), len(answers[0][0])), dtype=np.float32)
        for rows, answer in zip(batches, answers, strict=True):
            vectors[rows] = answer
        return vectors

    def _ask(self, texts: list[str]) -> np.ndarray:
        """Vectors of the texts of one request, as often as it takes."""
        wait, found = FIRST_WAIT, ""
        for attempt in range(self._attempts):
            if attempt:
                logger.info("%s: %s; again in %.1f s", self._url, found, wait)
                time.sleep(wait)
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
            try:
                answer = self._session.post(
                    self._url, json={**self._body, "input": texts}, timeout=self._timeout, allow_redirects=False
                )
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                found = f"no answer ({type(error).__name__})"
                continue
            if answer.status_code == 200:
                try:
                    return self._vectors(answer.json(), len(texts))
                except requests.JSONDecodeError:
                    found = "an answer that is not JSON"
                    continue
            found = f"status {answer.status_code}"
            if answer.status_code not in AGAIN:
                said = " ".join(answer.text[:300].split())
                raise ModelError(f"{self._url}: {found}, {said!r}; look at url, model, key and the length of the texts")
            asked = _retry_after(answer.headers.get("Retry-After"))
            if asked > LONGEST_RETRY_AFTER:
                raise ModelError(f"{self._url}: {found}, and asks to wait for {asked:.0f} s; run again then, which resumes here")
            wait = max(wait, asked)
        raise ModelError(f"{self._url}: {found}, after {self._attempts} attempts; run again once the server is up")

    def _vectors(self, held: Any, count: int) -> np.ndarray:
        """What an answer holds, one vector a text, in the order of the texts."""
        try:
            rows = held["data"]
            by_index = {int(row["index"]): row["embedding"] for row in rows}
            vectors = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{self._url}: the answer holds no vector for each text ({type(error).__name__}: {error})"
            ) from error
        if len(rows) != count or vectors.ndim != 2:
            raise ModelError(f"{self._url}: {len(rows)} vectors for {count} texts, of shape {vectors.shape}")
        return vectors


def _retry_after(value: str | None) -> float:
    """Seconds that a server asks to wait, which it says as a number or as a date; 0 where it says nothing."""
    if value is None:
        return 0.0
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # TypeError: a date without a time zone
        return 0.0
