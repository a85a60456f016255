"""A client of servers that speak OpenAI's protocol: JSON posted to one address, and failed attempts repeated."""

import logging
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from beirflow.core.addresses import (
    address_below,
    keep_secrets_of,
    shown,
    with_variables,
    without_credentials,
    without_known_secrets,
)
from beirflow.core.errors import ModelError
from beirflow.core.outside_json import parse_json

logger = logging.getLogger(__name__)

BUSY = (408, 409, 425, 429)  # statuses of a server that will answer later; so will one that says a status from 500 on
TOO_LARGE = 413  # status of a server that takes fewer texts at once, such as text-embeddings-inference with more than 32

PASSING = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)
"""Errors of a connection that may be gone at the next attempt."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before the second attempt, doubled for each one after it
NUMBER = re.compile("[0-9]{1,12}")  # seconds in a header

WHOLE_ANSWER = 5  # times the seconds without a byte, the most that an answer takes: one that drips in would never time out

LONGEST_RETRY_AFTER = 600.0
"""Seconds that a server may ask to wait; where it wants more, such as the rest of a day, the job ends and says so."""


class TooLargeError(ModelError):
    """A request has more texts, or longer ones, than the server takes."""


class _LaterError(Exception):
    """A failed attempt that may succeed later, with the seconds that the server asks to wait."""

    def __init__(self, problem: str, seconds: float = 0.0) -> None:
        super().__init__(problem)
        self.seconds = seconds


class JsonServer:
    """A server that answers JSON with JSON, at the base address of the protocol, usually ending in ``/v1``, and a place below it.

    ``key_variable`` names the environment variable that holds the key, which is in no record and no log; None without a key.
    After so many ``attempts``, the failure of a request is one of the job; ``timeout`` counts seconds without a byte, and
    a whole answer takes at most :data:`WHOLE_ANSWER` times as long.
    """

    def __init__(self, url: str, place: str, *, key_variable: str | None, attempts: int, timeout: float) -> None:
        url = with_variables(url)
        keep_secrets_of(url)
        self._url, self._attempts, self._timeout = address_below(url, place), attempts, timeout
        self._session = requests.Session()
        if key_variable is not None:
            key = with_variables(f"${{{key_variable}}}").strip()

            def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
                """Add the key to the request."""
                request.headers["Authorization"] = f"Bearer {key}"
                return request

            self._session.auth = authorize  # instead of the entry of a .netrc for the host

    def ask(self, body: Mapping[str, Any], most_bytes: int) -> Any:
        """Return the answer to a request, of at most so many bytes, repeating failed attempts.

        Raise TooLargeError if the request is too large, ModelError for every other failure that another attempt does not mend.
        """
        problem = ""
        for attempt in range(self._attempts):
            try:
                return self._attempt(body, most_bytes)
            except _LaterError as later:
                problem, pause = str(later), max(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT), later.seconds)
            if attempt + 1 < self._attempts:
                logger.info("%s: %s; again in %.1f s", self.shown, problem, pause)
                time.sleep(pause)
        raise self.wrong(f"{problem}, after {self._attempts} attempts; run again once the server is up")

    def _attempt(self, body: Mapping[str, Any], most_bytes: int) -> Any:
        try:
            answer, content = self._post(body, most_bytes)
        except PASSING as error:
            raise _LaterError(f"no answer ({type(error).__name__})") from error
        if answer.status_code != requests.codes.ok:
            raise self._refusal(answer, content)
        try:
            return parse_json(content)
        except ValueError as error:
            raise _LaterError("an answer that is not JSON") from error

    def _post(self, body: Mapping[str, Any], most_bytes: int) -> tuple[requests.Response, bytes]:
        """Return the answer to one attempt, and its content, within a limited time."""
        received: Future[tuple[requests.Response, bytes]] = Future()

        def receive() -> None:
            """Receive the answer, or the exception in its place."""
            try:
                received.set_result(self._receive(body, most_bytes))
            except BaseException as error:
                received.set_exception(error)

        # No timeout of a connection counts headers that drip in. A daemon, for which no process waits at its end.
        threading.Thread(target=receive, daemon=True).start()
        limit = WHOLE_ANSWER * self._timeout
        if wait([received], limit).not_done:
            raise self.wrong(f"no whole answer within {limit:,.0f} s, although it sent something; look at it, or raise timeout")
        return received.result()

    def _receive(self, body: Mapping[str, Any], most_bytes: int) -> tuple[requests.Response, bytes]:
        """Return the answer to one attempt, and its content, which may be endless."""
        # Redirects are refused: they turn a POST into a GET, and may lead to another host.
        told: dict[str, Any] = {"timeout": self._timeout, "allow_redirects": False, "stream": True}
        try:
            with self._session.post(self._url, json=dict(body), **told) as answer:
                content = bytearray()
                for block in answer.iter_content(1 << 16):
                    content += block
                    if len(content) > most_bytes:
                        raise self.wrong(f"an answer of more than {most_bytes:,} bytes")
        except PASSING:
            raise
        except (requests.RequestException, ValueError) as error:
            raise self.wrong(f"this address or its key cannot be used ({type(error).__name__})") from error
        return answer, bytes(content)

    def _refusal(self, answer: requests.Response, content: bytes) -> Exception:
        """Convert an answer that is no success to an error."""
        status = answer.status_code
        # Shortened twice: half a secret is none that is known, and to look for addresses takes long in long texts.
        body = without_known_secrets(" ".join(content.decode("utf-8", "replace").split()))[:3000]
        body = without_credentials(body)[:300]
        if status in BUSY or status >= requests.codes.server_error:
            seconds = _retry_after(answer.headers.get("Retry-After"))
            if seconds <= LONGEST_RETRY_AFTER:
                return _LaterError(f"status {status}{f', {body!r}' if body else ''}", seconds)
            return self.wrong(f"status {status}, and asks to wait for {seconds:.0f} s; run again then, which resumes here")
        error = self.wrong(f"status {status}, {body!r}; look at url, model, key and the length of the texts")
        return TooLargeError(*error.args) if status == TOO_LARGE else error

    @property
    def shown(self) -> str:
        """Return the address for messages and records, without secrets."""
        return str(shown(self._url))

    def wrong(self, problem: str) -> ModelError:
        """Return the error that names the server and a problem with it."""
        return ModelError(f"{self.shown}: {without_credentials(problem)}")


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
