"""The checkpoint from which an interrupted training resumes: weights, optimizer state, number of steps."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from beirflow.core.resume import ResumeFile
from beirflow.core.writing import atomic_path

logger = logging.getLogger(__name__)

EVERY_SECONDS = 300.0
"""At most this long and one step of work are lost with a job; a checkpoint takes three times the memory of the weights."""


class Checkpoint:
    """A file of one record that is replaced now and then.

    ``made_from`` is all that determines the weights: a checkpoint of something else counts as none, as a damaged one does.
    ``losses`` are those of each step so far, ``seconds`` their time in all jobs.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.losses: list[float] = []
        self.seconds = 0.0
        self._made_from = made_from
        self._written = time.monotonic()

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Load model and optimizer from the file, if an earlier job of the same training wrote one."""
        if not self.path.exists():
            return
        with ResumeFile(self.path, self._made_from) as file:
            for place in file.places[-1:]:
                # On the CPU first, so that a GPU holds the weights once.
                state = torch.load(file.read(place), map_location="cpu", weights_only=True)
                model.load_state_dict(state["model"])
                optimizer.load_state_dict(state["optimizer"])
                self.losses, self.seconds = state["losses"], state["seconds"]
                logger.info("resuming after %d steps", len(self.losses))

    def add(self, loss: float, seconds: float, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Add the loss and seconds of a step, and write the file when the last one is old enough."""
        self.losses.append(loss)
        self.seconds += seconds
        if time.monotonic() - self._written >= EVERY_SECONDS:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            so_far = {"losses": self.losses, "seconds": self.seconds}
            with atomic_path(self.path) as partial, ResumeFile(partial, self._made_from) as file, file.record() as stream:
                torch.save(state | so_far, stream)
            self._written = time.monotonic()
