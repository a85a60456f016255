"""The checkpoint from which an interrupted training resumes: weights, optimizer state, number of steps."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from beirflow.files.resume import ResumeFile
from beirflow.files.writing import atomic_path

logger = logging.getLogger(__name__)

EVERY_SECONDS = 300.0
"""At most this long and one step of work are lost with a job; a checkpoint takes three times the memory of the weights."""


class Checkpoint:
    """A file of one record that is replaced now and then.

    Args:
        path: The file.
        made_from: All that decides over the weights; the checkpoint of something else counts as none, as a damaged one does.

    Attributes:
        losses: Of each step so far.
        seconds: How long these took, in all the jobs.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.losses: list[float] = []
        self.seconds = 0.0
        self._made_from = made_from
        self._written = time.monotonic()

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Resume from the file, if an earlier job of the same training wrote one.

        Args:
            model: Whose weights are trained; changed.
            optimizer: Likewise.
        """
        if not self.path.exists():
            return
        with ResumeFile(self.path, self._made_from) as file:
            for place in file.places[-1:]:
                state = torch.load(file.read(place), map_location="cpu", weights_only=True)
                model.load_state_dict(state["model"])
                optimizer.load_state_dict(state["optimizer"])
                self.losses, self.seconds = state["losses"], state["seconds"]
                logger.info("resuming after %d steps", len(self.losses))

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
            so_far = {"losses": self.losses, "seconds": self.seconds}
            with atomic_path(self.path) as partial, ResumeFile(partial, self._made_from) as file, file.record() as stream:
                torch.save(state | so_far, stream)
            self._written = time.monotonic()
