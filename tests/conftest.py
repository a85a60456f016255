"""Fixtures that several test folders share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from results_maker import Made, audit_config, make_results
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


@pytest.fixture(scope="session")
def results_once(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Made:
    """Results of two systems on three datasets, for the tests that look at results; not to be changed."""
    threads, rayon = torch.get_num_threads(), os.environ.get("RAYON_NUM_THREADS")
    folder = tmp_path_factory.mktemp("results")
    config = audit_config(folder / "data", tiny_bert)
    make_results(folder / "results", config)
    torch.set_num_threads(threads)
    os.environ.pop("RAYON_NUM_THREADS") if rayon is None else os.environ.update(RAYON_NUM_THREADS=rayon)
    return Made(folder / "results", config)
