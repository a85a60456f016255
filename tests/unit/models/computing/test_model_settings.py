import os
import threading
from pathlib import Path

import pytest
import torch

from beirflow.models.computing.made import made_with
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings


def test_a_model_computes_in_whole_precision_whatever_was_set_before_and_records_it(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = torch.backends.cuda.matmul
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = cuda.allow_bf16_reduced_precision_reduction = True
    system = EncoderSettings("tiny", str(tiny_bert), pooling="mean")
    TransformersEncoder(system, tiny_bert, device="cpu", precision="float32", token_budget=64)
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32
    assert not cuda.allow_bf16_reduced_precision_reduction
    assert not cuda.allow_fp16_reduced_precision_reduction
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    assert made_with(torch.device("cuda"))["matmul_precision"] == "highest"
    assert "matmul_precision" not in made_with(torch.device("cpu"))


def test_tokens_and_products_are_computed_with_the_threads_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "9")
    before = torch.get_num_threads()
    try:
        Computing(None, "models/a.json", precision="float32", threads=3).use_threads()
        assert torch.get_num_threads() == 3
        assert os.environ["RAYON_NUM_THREADS"] == "3"
    finally:
        torch.set_num_threads(before)


def test_a_check_runs_while_a_model_is_loaded() -> None:
    loading = threading.Event()
    with checked_meanwhile(lambda: loading.wait(timeout=30) or pytest.fail("the check ran before")):
        loading.set()


def test_what_a_check_raises_is_raised_after_the_model_was_loaded_and_hides_no_other_error() -> None:
    done = []

    def check() -> None:
        raise ValueError("another file")

    with pytest.raises(ValueError, match="another file"), checked_meanwhile(check):
        done.append("loaded")
    assert done == ["loaded"]
    with pytest.raises(OSError, match="no such model"), checked_meanwhile(check):
        raise OSError("no such model")
