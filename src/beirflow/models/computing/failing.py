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
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, AssertionError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and (is_of_the_device(error) or is_out_of_memory(error)):
            raise
        reason = str(error).strip().partition("\n")[0]
        problem = f"the model fails on texts of up to {tokens} tokens ({type(error).__name__}: {reason})"
        where = f"system {system}: " if system else ""
        raise ModelError(f"{where}{problem}; look at its config.json, or lower max_length") from error
