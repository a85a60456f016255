"""Threads that share CPU work, because torch's own wait for each other after every operation."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import torch


class Threads:
    """Threads that share work on a CPU: as many as torch has, which leaves all the rest to them meanwhile.

    Torch's own threads wait for each other after every operation, which takes long where something else needs a core, too. On a
    GPU only work of the host is shared, and a single item that is ``alone`` cannot be: torch's own threads compute it together.
    """

    def __init__(self, device: torch.device, *, alone: bool = False) -> None:
        self._before = torch.get_num_threads()
        self._alone, self._on_gpu = alone, device.type == "cuda"
        self._count = 1 if alone else self._before

    def __enter__(self) -> Self:
        torch.set_num_threads(self._before if self._alone else 1)
        self._pool = ThreadPoolExecutor(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        torch.set_num_threads(self._before)

    def share(self, function: Callable[[slice], None], count: int, most: int, *, on_host: bool = False) -> None:
        """Call a function in other threads with slices of ``count`` neighbouring items, in equal parts of at most ``most``.

        ``on_host`` is work of numpy, whatever the device.
        """
        threads = 1 if self._on_gpu and not on_host else self._count
        # A multiple of the threads, so that all end at about the same time.
        parts = threads * max(1, math.ceil(count / (threads * most)))
        size = max(1, math.ceil(count / parts))
        slices = [slice(start, min(start + size, count)) for start in range(0, count, size)]
        for _ in map(function, slices) if threads == 1 else self._pool.map(function, slices):
            pass  # an exception is raised here
