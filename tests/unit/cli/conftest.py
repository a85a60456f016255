"""Shared by the tests of the command."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def environment_as_before() -> Iterator[None]:
    """Forget what a command tells its jobs in the environment, such as the folders of classes, for the tests that follow."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
