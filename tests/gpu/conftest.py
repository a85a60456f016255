"""The device of these tests: a real one, or a pretended one where there is none."""

from collections.abc import Iterator

import pytest
import torch

from pretended_cuda import pretended_cuda

IS_REAL = torch.cuda.is_available()


@pytest.fixture(autouse=True)
def cuda() -> Iterator[None]:
    """Let torch have a CUDA device."""
    if IS_REAL:
        yield
        return
    with pretended_cuda():
        yield


@pytest.fixture
def real_cuda() -> None:
    """Skip what a pretended device cannot do."""
    if not IS_REAL:
        pytest.skip("needs a real CUDA device: another process does not see the pretended one")
