"""A model of which few terms weigh something, as of a trained one."""

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from tiny_sparse import save_masked_lm


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_masked_lm(tmp_path_factory.mktemp("model"))
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"] -= 4
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
