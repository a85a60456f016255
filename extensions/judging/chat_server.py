"""A client of chat servers that speak OpenAI's protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from beirflow.models.json_server import JsonServer

ANSWER_BYTES = 1 << 20  # most bytes of an answer


class ChatAnswer(NamedTuple):
    """The answer of a model, the name that the server gives it, and the tokens of prompt and answer; None if not stated."""

    text: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(kw_only=True, repr=False, eq=False)  # its address may hold a password
class ChatServer:
    """A language model behind a server."""

    url: str  # base address of the protocol, usually ending in ``/v1``; ``/chat/completions`` is added
    model: str  # name of the model on the server
    key_variable: str | None  # name of the environment variable that holds the key; None without a key
    parameters: Mapping[str, Any]  # further keys of every request, such as ``temperature``
    attempts: int = 8  # attempts before the failure of a request is one of the job
    timeout: float = 600.0  # seconds without a byte after which a request has failed

    def __post_init__(self) -> None:
        self._server = JsonServer(
            self.url, "chat/completions", key_variable=self.key_variable, attempts=self.attempts, timeout=self.timeout
        )

    @property
    def shown(self) -> str:
        """Return the address for records, without secrets."""
        return self._server.shown

    def ask(self, prompt: str) -> ChatAnswer:
        """Return the answer to a prompt; raise ModelError if there is none."""
        messages = [{"role": "user", "content": prompt}]
        held = self._server.ask({**self.parameters, "model": self.model, "messages": messages}, ANSWER_BYTES)
        try:
            text = held["choices"][0]["message"]["content"] or ""
            usage = held.get("usage") or {}
            tokens = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
            counts = [each if type(each) is int and each >= 0 else None for each in tokens]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise self._server.wrong(f"the answer holds no message ({type(error).__name__}: {error})") from error
        if not isinstance(text, str):
            raise self._server.wrong(f"the message is {type(text).__name__}, expected a text")
        return ChatAnswer(text, str(held["model"]) if held.get("model") else None, *counts)
