"""Functions of the code under test that a test listens to, or whose memory it lets run out."""

from collections.abc import Callable
from typing import Any

import pytest


def heard(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, hear: Callable[..., Any]) -> list[Any]:
    """Listen to a function; the list grows by what ``hear`` makes of the arguments of each call, before the call is done."""
    function, calls = getattr(owner, name), list[Any]()

    def listening(*arguments: Any, **options: Any) -> Any:
        calls.append(hear(*arguments, **options))
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, listening)
    return calls


def short_of_memory(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, is_too_much: Callable[..., Any], error: type[Exception] | None = None
) -> list[bool]:
    """Let calls of a function that are too much fail as they do on a small device; the list says of each call whether it was."""
    from torch import OutOfMemoryError

    def fail(*arguments: Any, **options: Any) -> bool:
        if is_too_much(*arguments, **options):
            failures.append(True)
            raise (error or OutOfMemoryError)("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 byte")
        return False

    failures = heard(monkeypatch, owner, name, fail)
    return failures
