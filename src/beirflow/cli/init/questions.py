"""Questions of ``beirflow init`` on a terminal."""

import sys
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class Questions:
    """Questions on a terminal; without one, defaults, which ``taken`` has in words."""

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.taken: list[str] = []

    def answer(self, given: str | None, question: str, default: str, read: Callable[[str], Answer]) -> Answer:
        """Return what an option, an answer, or the default means; ask again after an answer that cannot be used."""
        from beirflow.core.errors import BeirflowError, ConfigError

        if given is not None:
            return read(given.strip())
        if not self.asks:
            if default:
                self.taken.append(f"{question.partition(',')[0].partition(' (')[0]}: {default}")
            return read(default)
        while True:
            try:
                text = input(f"{question}{f' [{default}]' if default else ''}: ")
            except EOFError:
                raise ConfigError("the answers ended; nothing was written. Options answer without questions: --yes") from None
            try:
                return read(text.strip() or default)
            except BeirflowError as error:
                sys.stdout.write(f"  {error}\n")
