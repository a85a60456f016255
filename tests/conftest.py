"""Fixtures that several test folders share."""

from pathlib import Path

import pytest
from tiny_bert import save_tiny_bert


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a BERT with random weights: 2 layers, 32 dimensions, 64 positions, a token a word."""
    return save_tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")
