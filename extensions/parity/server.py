"""Servers of embeddings, asked by one of five protocols; what they say is data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import requests

from beirflow.core.errors import ConfigError, ModelError
from beirflow.models.embedding_server import EmbeddingServer
from beirflow.models.json_server import JsonServer, TooLargeError

REFUSED = (400, 404, 405, 422, 500)
"""Statuses of a server that does not answer such a request, and will not later."""


class RefusedError(ModelError):
    """The server does not answer a request."""


class Protocol(NamedTuple):
    """A protocol, by its differences from OpenAI's."""

    place: str  # below the address of the server
    body: Callable[[Mapping[str, Any]], dict[str, Any]] = dict  # from OpenAI's request
    rows: Callable[[Any], list[Any]] | None = None  # vectors of an answer, in the order of the texts; None for OpenAI's


PROTOCOLS = {
    "ollama": Protocol(
        "api/embed",
        lambda body: {"model": body["model"], "input": body["input"], "truncate": True},
        lambda held: held["embeddings"],
    ),
    "tei": Protocol("embed", lambda body: {"inputs": body["input"], "truncate": True}, lambda held: held),
    "openai": Protocol("v1/embeddings"),
    "infinity": Protocol("embeddings"),
    # Without it, long texts are refused.
    "vllm": Protocol("v1/embeddings", lambda body: {**body, "truncate_prompt_tokens": -1}),
}
"""Protocols by name, in the order in which a server is asked; vLLM's is OpenAI's, so that another question finds it."""


class _Translated(JsonServer):
    """A server that is asked in its own protocol, and seems to speak OpenAI's."""

    def __init__(self, url: str, name: str, **how: Any) -> None:
        self._name, self._protocol = name, PROTOCOLS[name]
        place = self._protocol.place
        super().__init__(url, place.removeprefix("v1/") if url.rstrip("/").endswith("/v1") else place, **how)

    def ask(self, body: Mapping[str, Any], most_bytes: int) -> Any:
        """Return the answer to OpenAI's request in the form of OpenAI's."""
        answer = super().ask(self._protocol.body(body), most_bytes)
        if self._protocol.rows is None:
            return answer
        try:
            return {"data": [{"index": index, "embedding": row} for index, row in enumerate(self._protocol.rows(answer))]}
        except (KeyError, TypeError) as error:
            raise self.wrong(f"the answer is none of the protocol {self._name}") from error

    def _refusal(self, answer: requests.Response, content: bytes) -> Exception:
        error = super()._refusal(answer, content)
        if answer.status_code not in REFUSED:
            return error
        return RefusedError(*(error if isinstance(error, ModelError) else self.wrong(str(error))).args)


@dataclass(kw_only=True, repr=False, eq=False)
class Server(EmbeddingServer):
    """A server of embeddings; every answer holds finite vectors of the same dimensions, or a ModelError is raised."""

    protocol: str
    dim: int = 0  # of its vectors, once it has answered

    def __post_init__(self) -> None:
        super().__post_init__()
        how = {"key_variable": self.key_variable, "attempts": self.attempts, "timeout": self.timeout}
        self._server = _Translated(self.url, self.protocol, **how)

    @property
    def shown(self) -> str:
        """Return the address without secrets."""
        return self._server.shown

    def alone(self, texts: Sequence[str]) -> np.ndarray:
        """Encode each text in a request of its own, float32 of shape (n, dim)."""
        return np.concatenate([self._ask([text]) for text in texts])

    def together(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n texts in requests of many, float32 of shape (n, dim)."""
        return self._ask([*texts])

    def in_base64(self, texts: Sequence[str]) -> np.ndarray | None:
        """Encode n texts, each alone, with numbers in base64; None where the protocol has none, or the server refuses."""
        if PROTOCOLS[self.protocol].rows is not None:
            return None
        self._body["encoding_format"] = "base64"
        try:
            return self.alone(texts)
        except RefusedError:
            return None
        finally:
            self._body["encoding_format"] = "float"

    def is_vllm(self) -> bool:
        """Test whether the server tokenises as vLLM does, which tells its limit."""
        base = self.url.rstrip("/").removesuffix("/v1")
        how: dict[str, Any] = {"key_variable": self.key_variable, "attempts": 1, "timeout": self.timeout}
        try:
            return "max_model_len" in JsonServer(base, "tokenize", **how).ask({"model": self.model, "prompt": "a"}, 1 << 20)
        except (ModelError, TypeError):
            return False

    def _vectors(self, held: Any, count: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            vectors = super()._vectors(held, count)
        if not np.isfinite(vectors).all():
            raise self._server.wrong("a vector with a number that is not finite")
        self.dim = self.dim or vectors.shape[1]
        if vectors.shape[1] != self.dim:
            raise self._server.wrong(f"vectors of {self.dim} and of {vectors.shape[1]} dimensions; is it one model that answers?")
        return vectors


def connect(url: str, protocol: str | None, **how: Any) -> Server:
    """Return the server at an address, by its protocol, or the first in which it answers. Raises ModelError if it does not."""
    if protocol is not None and protocol not in PROTOCOLS:
        raise ConfigError(f"--protocol {protocol}: there is no such protocol; there are {', '.join(PROTOCOLS)}")
    for each in PROTOCOLS.values():
        url = url.rstrip("/").removesuffix(f"/{each.place}")
    refusals = []
    for name in [protocol] if protocol else [*PROTOCOLS][:-1]:
        server = Server(url=url, protocol=name, attempts=2, requests_at_once=1, batch_texts=32, **how)
        try:
            server.alone(["a"])
        except (RefusedError, TooLargeError) as error:
            refusals.append(f"{name}: {error}")
            continue
        if name == "openai" and protocol is None and server.is_vllm():
            return connect(url, "vllm", **how)
        return server
    raise ModelError("the server answers in no protocol that was tried; " + "; ".join(refusals))
