"""The model settings of a job: its model, device, precision, threads, GPU."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from beirflow.core.errors import ModelError
from beirflow.run.hardware import ModelHardware

S_co = TypeVar("S_co", covariant=True)


@dataclass(frozen=True)
class Computing(ModelHardware, Generic[S_co]):
    """A model's settings, the path of its record, and the hardware that a job computes with it on."""

    settings: S_co
    model_path: str


@contextmanager
def checked_meanwhile(check: Callable[[], object]) -> Iterator[None]:
    """Load a model in the block while ``check`` compares the digests of its files, which reads them for the first time.

    An error of the check is raised at the end of the block, also in place of a ModelError: a changed file may be why the model
    cannot be loaded.
    """
    with ThreadPoolExecutor(max_workers=1) as background:
        checked = background.submit(check)
        try:
            yield
        except ModelError:
            checked.result()
            raise
        checked.result()
