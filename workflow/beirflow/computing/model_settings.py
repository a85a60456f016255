"""The model settings of a job: its model, device, precision, threads, GPU."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from beirflow.jobs.hardware import ModelHardware

S_co = TypeVar("S_co", covariant=True)


@dataclass(frozen=True)
class Computing(ModelHardware, Generic[S_co]):
    """A model, and the hardware that a job computes with it on.

    Attributes:
        settings: Of the system, or of whatever else has the model.
        model_path: The record of the model.
    """

    settings: S_co
    model_path: str


@contextmanager
def checked_meanwhile(check: Callable[[], object]) -> Iterator[None]:
    """Load a model while the digests of its files are compared, which reads them for the first time.

    Args:
        check: Compares them, in another thread.

    Yields:
        Nothing; what the check raises is raised at the end.
    """
    with ThreadPoolExecutor(max_workers=1) as background:
        checked = background.submit(check)
        yield
        checked.result()
