import os
import threading

import pytest
import torch
from beirflow.computing.model_settings import Computing, checked_meanwhile


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


def test_what_a_check_raises_is_raised_after_the_model_was_loaded() -> None:
    done = []

    def check() -> None:
        raise ValueError("another file")

    with pytest.raises(ValueError, match="another file"), checked_meanwhile(check):
        done.append("loaded")
    assert done == ["loaded"]


def test_what_loading_raises_is_not_hidden_by_the_check() -> None:
    def check() -> None:
        raise ValueError("another file")

    with pytest.raises(OSError, match="no such model"), checked_meanwhile(check):
        raise OSError("no such model")
