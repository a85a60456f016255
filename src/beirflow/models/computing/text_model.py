"""The common part of all models that read texts: windows, batches, counts and fields of records."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch

from beirflow.core.background import map_ahead
from beirflow.core.progress import Progress
from beirflow.models.computing.arrival import finish_behind
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.failing import in_words
from beirflow.models.computing.made import made_with
from beirflow.models.computing.token_budget import TokenBudget
from beirflow.run.devices import choose_device, choose_precision, prefers_onednn

Window = TypeVar("Window")
Result = TypeVar("Result")


class Recorded(Protocol):
    """Fields of records about a model."""

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions of the results."""

    def computation(self) -> dict[str, Any]:
        """Return what changes the last bits besides versions, such as batches; empty if unknown."""

    def counts_of(self, kind: str) -> dict[str, int]:
        """Return the tokens read so far, and the texts of a kind that were probably cut; empty if unknown."""


class TextModel(Recorded):
    """A model that reads texts window by window: threads tokenise the next ones while the device computes.

    Inside a window, texts are sorted by token count and batched up to a budget of tokens. Device, precision and budget are as in
    :class:`~beirflow.run.hardware.ModelHardware`. ``tokens`` counts those read, without padding, ``truncated`` texts as long as
    the maximum, so probably cut; ``assumed`` are sentences on what the files of the model leave open, for records.
    """

    window: ClassVar[int] = 1024  # texts that are tokenised together and sorted by length before they are batched
    threads: ClassVar[int] = 1  # that tokenise

    def __init__(self, name: str, *, device: str, precision: str, token_budget: int | str, unit: str = "text") -> None:
        self.name = name
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        self.budget = TokenBudget.of(f"system {name}", self.device, token_budget, unit=unit)
        self.tokens = self.truncated = 0
        self.assumed: list[str] = []

    def made(self) -> dict[str, Any]:
        """Return precision, device, versions and assumptions."""
        return {"precision": str(self.dtype).removeprefix("torch."), **made_with(self.device, self.assumed)}

    def computation(self) -> dict[str, Any]:
        """Return batches, threads and processor, and the library of its products where it is not torch's usual one."""
        by_onednn = self.device.type == "cpu" and self.dtype != torch.float16 and prefers_onednn()
        return {**self.budget.computation(), **({"products": "oneDNN"} if by_onednn else {})}

    def counts_of(self, kind: str) -> dict[str, int]:
        """Return both counts."""
        return {"tokens": self.tokens, f"truncated_{kind}": self.truncated}

    def read_and_compute(
        self,
        what: str,
        count: int,
        unit: str,
        read: Callable[[int], Window],
        begin: Callable[[Window, Progress], Callable[[], Result]],
    ) -> Iterator[Result]:
        """Read windows ahead from the index of their first text, begin each, and finish it once the next has begun."""
        with Progress(f"{what} with {self.name}", count, unit, "tokens") as progress:
            windows = map_ahead(read, range(0, count, self.window), self.threads)
            yield from finish_behind(begin(window, progress) for window in windows)

    def batches(
        self, window: Tokens, compute: Callable[[np.ndarray], torch.Tensor], progress: Progress
    ) -> Iterator[tuple[np.ndarray, list[torch.Tensor]]]:
        """Compute the texts of a window that have tokens: rows of a batch, int64, and its results in one or more parts."""
        readable = np.flatnonzero(window.lengths)
        progress.advance(len(window.lengths) - len(readable))

        def forward(rows: np.ndarray) -> torch.Tensor:
            """Compute a batch of rows."""
            with torch.inference_mode(), in_words(int(window.lengths[rows].max()), self.name):
                return compute(rows)

        for batch in self.budget.batches(window.lengths[readable]):
            rows = readable[batch]
            yield rows, [*self.budget.compute(forward, window.lengths, rows)]
            tokens = int(window.lengths[rows].sum())
            self.tokens += tokens
            progress.advance(len(rows), tokens)
