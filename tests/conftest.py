"""Fixtures that several test folders share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny_bert import save_tiny_bert


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a BERT with random weights: 2 layers, 32 dimensions, 64 positions, a token a word."""
    return save_tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture
def threads_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Encoding a table sets the number of threads of this process."""
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
