"""Where to compute: what is asked for, or an error; never another device in silence."""

from pathlib import Path

import pytest
import torch
from beirflow.computing.made import made_with
from beirflow.encoders import encoder
from beirflow.encoders.onnx_backbone import _session
from beirflow.files.errors import ModelError
from beirflow.jobs.devices import choose_device, choose_precision, exact_device, is_out_of_memory
from beirflow.rerank.scorers import pair_scorer
from beirflow.sparse import weigher

MPS = torch.device("mps")


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is one here")
def test_mps_that_is_not_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"^device: found 'mps', but torch sees no GPU of Apple's here; use 'auto' or 'cpu'$"):
        choose_device("mps")


def test_only_who_asks_for_mps_gets_it_and_float64_is_computed_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert [choose_device(name).type for name in ("auto", "mps", "cpu")] == ["cpu", "mps", "cpu"]
    assert [exact_device(name).type for name in ("auto", "mps", "cpu")] == ["cpu", "cpu", "cpu"]


def test_mps_has_float32_unless_another_is_asked_for_a_name_in_records_and_a_memory_that_runs_out() -> None:
    assert choose_precision("auto", MPS) == torch.float32
    assert choose_precision("float16", MPS) == torch.float16
    assert made_with(MPS)["device"].startswith("mps of ")
    assert not made_with(torch.device("cpu"))["device"].startswith("mps")
    assert is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 9.0 GB)"))


def test_whatever_computes_on_mps_has_a_size_of_batches_for_it() -> None:
    assert {"mps", "cuda", "cpu"} == set(encoder.AUTO_TOKEN_BUDGET) == set(pair_scorer.AUTO_TOKEN_BUDGET)
    assert {"mps", "cuda", "cpu"} == set(weigher.AUTO_TOKEN_BUDGET)


def test_a_graph_of_onnx_is_refused_on_mps(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(ModelError, match="ONNX graphs do not run on mps; set device: cpu"):
        _session(tmp_path / "model.onnx", MPS)
