"""A pickle that would run code."""

import os
from collections.abc import Callable
from pathlib import Path


class Trap:
    """Unpickling it creates a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.path),)
