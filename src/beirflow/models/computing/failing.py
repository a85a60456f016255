"""Errors of a model's own code, in words."""

from collections.abc import Iterator
from contextlib import contextmanager

from beirflow.core.errors import ModelError
from beirflow.run.devices import is_of_the_device, is_out_of_memory


@contextmanager
def in_words(tokens: int, system: str | None = None) -> Iterator[None]:
    """Convert errors of a model's code to ModelError; let device errors pass to the GPU guard.

    ``tokens`` is the length of the longest text; ``system`` begins the message, None if the caller adds it.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, AssertionError, NotImplementedError) as error:
        raise _failed(tokens, system, error) from error
    except RuntimeError as error:
        if is_of_the_device(error) or is_out_of_memory(error):
            raise
        raise _failed(tokens, system, error) from error


def _failed(tokens: int, system: str | None, error: Exception) -> ModelError:
    reason = str(error).strip().partition("\n")[0]
    problem = f"the model fails on texts of up to {tokens} tokens ({type(error).__name__}: {reason})"
    where = f"system {system}: " if system else ""
    return ModelError(f"{where}{problem}; look at its config.json, or lower max_length")
