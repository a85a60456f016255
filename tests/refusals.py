"""What is said where something is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError


@contextmanager
def refused(error: type[Exception], *parts: str) -> Iterator[None]:
    """Expect an error whose message has all these parts."""
    with pytest.raises(error) as caught:
        yield
    assert [part for part in parts if part not in str(caught.value)] == [], str(caught.value)


def problems_of(*configuration: Any, load: Callable[..., Any] = load_experiment, **more: Any) -> list[str]:
    """List the problems of a configuration, without the first line, which says where they were found."""
    with pytest.raises(ConfigError) as caught:
        load(*configuration, **more)
    first, *lines = str(caught.value).splitlines()
    assert "config.yaml" in first
    return [line.strip() for line in lines]
