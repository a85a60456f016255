"""The checkpoint from which an interrupted training resumes: weights, optimizer state, number of steps."""

import hashlib
import json
import logging
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from beirflow.files.writing import atomic_path

logger = logging.getLogger(__name__)

EVERY_SECONDS = 300.0
"""At most this long and one step of work are lost with a job; a checkpoint takes three times the memory of the weights."""


class Checkpoint:
    """A file that is replaced now and then; that of another model, corpus, code or setting counts as none, as a damaged one does.

    Args:
        path: The file.
        made_from: All that decides over the weights.

    Attributes:
        losses: Of each step so far.
        seconds: How long these took, in all the jobs.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.losses: list[float] = []
        self.seconds = 0.0
        self._made_from = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
        self._written = time.monotonic()

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Go on where an earlier job has written the file, if it has.

        Args:
            model: Whose weights are trained; changed.
            optimizer: Likewise.
        """
        found = self._read()
        if found is not None:
            model.load_state_dict(found["model"])
            optimizer.load_state_dict(found["optimizer"])
            self.losses, self.seconds = found["losses"], found["seconds"]
            logger.info("resuming after %d steps", len(self.losses))

    def _read(self) -> dict[str, Any] | None:
        if self.path.is_symlink() or not self.path.is_file():
            self.path.unlink(missing_ok=True)  # perhaps a link that somebody left, which would be written through
            return None
        try:
            found: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            return found if found["made_from_sha256"] == self._made_from else None
        except (RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError):
            return None

    def add(self, loss: float, seconds: float, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Note a step, and write the file when the last one is old enough.

        Args:
            loss: Its loss.
            seconds: How long it took.
            model: The weights after it.
            optimizer: Its state after it.
        """
        self.losses.append(loss)
        self.seconds += seconds
        if time.monotonic() - self._written >= EVERY_SECONDS:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            how_far = {"made_from_sha256": self._made_from, "losses": self.losses, "seconds": self.seconds}
            with atomic_path(self.path) as partial:
                torch.save(state | how_far, partial)
            self._written = time.monotonic()
