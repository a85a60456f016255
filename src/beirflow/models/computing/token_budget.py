"""The tokens of a batch: as many as a device's memory holds."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.models.computing.batching import plan
from beirflow.run.devices import is_out_of_memory
from beirflow.run.hardware import features, processor

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

AUTO = {"cpu": 4096, "cuda": 65536, "mps": 4096}  # tokens of a batch by type of device, if the configuration leaves them open


@dataclass
class TokenBudget:
    """The tokens of a batch, which are halved whenever memory runs out."""

    owner: str  # name of a system or an expansion, with which errors begin
    device: torch.device  # where the batches are computed
    tokens: int  # tokens of a batch
    packed: bool = False  # whether a batch costs its tokens, or the tokens of its longest text for every text
    unit: str = "text"  # name of one text
    setting: str = "max_length"  # setting that shortens the texts
    halvings: int = field(default=0, init=False)  # how many times memory ran out

    @classmethod
    def of(cls, owner: str, device: torch.device, setting: int | str, *, unit: str = "text") -> "TokenBudget":
        """Read the budget of the configuration, a number or ``auto``."""
        return cls(owner, device, AUTO[device.type] if setting == "auto" else int(setting), unit=unit)

    def batches(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        """Divide texts, from the tokens of each, into batches of rows, longest first; the budget may fall meanwhile."""
        return plan(lengths, lambda: self.tokens, packed=self.packed)

    def computation(self, threads: int | None = None) -> dict[str, Any]:
        """Return what decides the last bits besides versions, for the record; ``threads`` are torch's if None."""
        return {
            "batch_tokens": None if self.halvings else self.tokens,  # None where memory ran out, which cannot be repeated
            "threads": threads or torch.get_num_threads(),
            "processor": processor(),
            "features": features(),
        }

    def compute(self, forward: Callable[[np.ndarray], Result], lengths: np.ndarray, rows: np.ndarray) -> Iterator[Result]:
        """Compute a batch, in more and more parts as long as memory runs out, and yield the results in the order of the rows.

        ``forward`` computes the texts of some rows, int64; ``lengths`` has the tokens of all n texts. Raises ModelError if a
        single text does not fit.
        """
        try:
            result = forward(rows)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                problem = f"a {self.unit} of {lengths[rows[0]]} tokens does not fit into the memory of {self.device}"
                todo = f"free memory, lower {self.setting}, or use another device"
                raise ModelError(f"{self.owner}: {problem}; {todo}") from error
        else:
            yield result
            return
        # After the except block, whose traceback keeps the tensors of the failed batch.
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        # For all batches to come, too, which would not fit either. Half of what was tried, since a batch may be below the budget.
        tokens = int(lengths[rows].sum() if self.packed else len(rows) * lengths[rows].max())
        self.halvings += 1
        self.tokens = max(1, min(self.tokens, tokens // 2))
        logger.warning("out of memory with a batch of %d tokens; continuing with a token budget of %d", tokens, self.tokens)
        for half in np.array_split(rows, 2):
            yield from self.compute(forward, lengths, half)
