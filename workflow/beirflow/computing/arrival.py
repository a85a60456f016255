"""Vectors on their way from the device to the host."""

import numpy as np
import torch

from beirflow.files.errors import ModelError


class NotFiniteError(ModelError):
    """An encoder computed infinity or not-a-number for the text with index ``row``."""

    def __init__(self, row: int) -> None:
        super().__init__(f"the vector of text {row} is not finite")
        self.row = row


class Arrival:
    """Vectors of texts from ``start`` on, on their way to the host, which continues while the device may still compute them."""

    def __init__(self, start: int, vectors: torch.Tensor) -> None:
        self.start = start
        self._vectors, self._event = vectors, None
        if vectors.is_cuda:
            # A copy into pageable memory would make the host wait for the device.
            self._vectors = torch.empty(vectors.shape, pin_memory=True).copy_(vectors, non_blocking=True)
            self._event = torch.cuda.current_stream().record_event()

    def wait(self) -> tuple[int, np.ndarray]:
        """Return the index of the first text, and the vectors, float32 of shape (texts, dim), once they have arrived.

        Raises NotFiniteError for a vector that is not finite.
        """
        if self._event:
            self._event.synchronize()
        vectors = self._vectors.cpu().numpy()
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            raise NotFiniteError(self.start + int(np.argmin(finite)))
        return self.start, vectors
