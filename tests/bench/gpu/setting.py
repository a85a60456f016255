"""What a run of the benchmark was asked to do, and what its parts share."""

from dataclasses import dataclass
from pathlib import Path

import torch
from beirflow.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings

from bench.gpu.workload import Shape

Figures = dict[str, object]
"""What a part found, as it stands in the JSON file."""


class NotRunError(Exception):
    """A part cannot run here; the message says why."""


@dataclass(frozen=True)
class Setting:
    """Choices of the command line, the texts and the model.

    Attributes:
        device: Where to compute.
        precision: ``bfloat16``, ``float16`` or ``float32``.
        shape: Of the model.
        folder: Where the model is.
        texts: Longest first.
        seconds: Seconds of a timed pass, about.
        passes: Timed passes of each side.
        matrix: Rows and columns of the matrices whose product is timed.
        queries: Queries of the search.
    """

    device: torch.device
    precision: str
    shape: Shape
    folder: Path
    texts: list[str]
    seconds: float
    passes: int
    matrix: int
    queries: int

    def encoder(self) -> TransformersEncoder:
        """An encoder as a job would make it."""
        system = EncoderSettings(name="bench", model=str(self.folder), max_length=self.shape.positions, pooling="mean")
        return TransformersEncoder(system, self.folder, device=self.device.type, precision=self.precision, token_budget="auto")

    def need_cuda(self) -> None:
        """Refuse to go on without CUDA.

        Raises:
            NotRunError: The device is another.
        """
        if self.device.type != "cuda":
            raise NotRunError("there is no CUDA device here")
