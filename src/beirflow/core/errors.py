"""Exceptions for users, and words of their messages: the value found, the value expected, the place, and the remedy."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class BeirflowError(Exception):
    """Base of every error whose message is meant for the person who runs the workflow."""


class ConfigError(BeirflowError):
    """The configuration or the catalogue has an undefined or impossible value."""


class DownloadError(BeirflowError):
    """An archive or a model could not be fetched, or what was fetched is not what was expected."""


class DataError(BeirflowError):
    """A dataset, an archive or a file of the results has invalid content."""


class DeviceError(BeirflowError):
    """A GPU is missing, fails, or has too little memory."""


class VerdictError(DataError):
    """Results fail a check that came to its end; the message is the verdict."""


class LockError(BeirflowError):
    """Another run, or a job of another run, writes the same results."""


class ModelError(BeirflowError):
    """A model cannot be loaded, or does not compute what it should."""


def some(names: Sequence[str], most: int = 5) -> str:
    """Name the first of several files or the like, and how many others there are."""
    others = len(names) - most
    return ", ".join(names[:most]) + (f" and {others} other{'s' if others > 1 else ''}" if others > 0 else "")


def cause_of(error: BaseException) -> str:
    """Return in one line why a network failed: what the system said, around which libraries put exceptions of their own."""
    chain = [error]
    for each in chain:  # which grows meanwhile
        inside = (getattr(each, "reason", None), *each.args[:1], each.__cause__, each.__context__)
        chain += [inner for inner in inside if isinstance(inner, BaseException) and inner not in chain]
    of_system = (each.strerror for each in chain if isinstance(each, OSError) and each.errno and each.strerror)
    return " ".join(str(next(of_system, error)).split())


@contextmanager
def model_errors_of(owner: str) -> Iterator[None]:
    """Begin the message of a ModelError in the block with the system, the expansion or the folder that it is about."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{owner}: {error}") from error
