"""Models are loaded whole from several threads of one process."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel, T5ForConditionalGeneration

from beirflow.models.computing.loading import load_whole, loading_from
from tiny_expanders import save_tiny_t5


def test_two_threads_load_a_model_whose_weights_are_tied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PreTrainedModel, "tie_weights", PreTrainedModel.tie_weights)  # put back if the test fails
    save_tiny_t5(tmp_path)

    def load(_: int) -> bool:
        with loading_from(tmp_path):
            model = load_whole(T5ForConditionalGeneration, tmp_path, "model.safetensors", torch.float32)
        return model.lm_head.weight is model.shared.weight

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(load, range(8)))
