"""Arrays on their way between the host and the device, neither of which waits for the other."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np
import torch

from beirflow.core.errors import ModelError

Result = TypeVar("Result")


class NotFiniteError(ModelError):
    """A model computed infinity or not-a-number for the text with index ``row``."""

    def __init__(self, row: int) -> None:
        super().__init__(f"what the model computes for text {row} is not finite; use precision float32, or look at its text")
        self.row = row


def send(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """Copy an array to the device, from pinned memory, so that the host does not wait for its computations."""
    tensor, on_cuda = torch.from_numpy(array), device.type == "cuda"
    return (tensor.pin_memory() if on_cuda else tensor).to(device, non_blocking=on_cuda)


class Arrival:
    """A tensor on its way to the host, which continues while the device may still compute it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor, self._event = tensor, None
        if tensor.is_cuda:
            # A copy into pageable memory would make the host wait for the device.
            self._tensor = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)
            self._event = torch.cuda.current_stream().record_event()

    def wait(self) -> np.ndarray:
        """Return the numbers of the tensor once they have arrived."""
        if self._event:
            self._event.synchronize()
        return self._tensor.cpu().numpy()


def on_own_stream(tensor: torch.Tensor) -> AbstractContextManager[object]:
    """Return a context for work with a tensor that waits only for what the device has to do by now."""
    if not tensor.is_cuda:
        return nullcontext()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    tensor.record_stream(stream)  # so that the memory is not given away meanwhile
    return torch.cuda.stream(stream)


def finish_behind(begun: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Finish each piece of work once the next has begun: the device computes one while the host finishes the other."""
    before: Callable[[], Result] | None = None
    for finish in begun:
        if before:
            yield before()
        before = finish
    if before:
        yield before()
