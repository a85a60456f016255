"""Keep an audit from downloading: what is not on this machine is not checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def offline() -> Iterator[None]:
    """Let the library of the hub find only what is on this machine, in the block."""
    from huggingface_hub import constants

    with patch.object(constants, "HF_HUB_OFFLINE", True):
        yield
