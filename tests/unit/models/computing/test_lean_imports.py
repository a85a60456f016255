"""Modules that are left out are not loaded, are there again afterwards, and change no vector."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed
import transformers.utils

from beirflow.models.computing import lean_imports
from beirflow.models.computing.lean_imports import load_lean
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings

TEXTS = ["w1 w2", "w3", "w4 " * 50]

LEAN = f"""
import sys, torch
from pathlib import Path
from beirflow.models.computing import packed_attention
from beirflow.models.encoders import encoder, tower
from beirflow.models.settings import EncoderSettings
folder = Path(sys.argv[1])
system = EncoderSettings(name="tiny", model=str(folder), max_length=64, pooling="mean")
left_out = ("torch._dynamo", "scipy.optimize", "torch.distributed.tensor")
def load():
    return encoder.TransformersEncoder(system, folder, device="cpu", precision="float32", token_budget=64)
print(load().encode_corpus({TEXTS}).tobytes().hex())
print([name in sys.modules for name in left_out])
attend_in_turn = packed_attention._attend_in_turn
def attend(query, key, value, lengths, seen):
    on_meta = [tensor.to("meta") for tensor in (query, key, value, torch.empty(len(lengths) + 1, dtype=torch.int32))]
    assert packed_attention._attend_on_cuda(*on_meta, max(lengths), seen).shape == query.shape
    return attend_in_turn(query, key, value, lengths, seen)
packed_attention._attend_in_turn = attend
tower.can_pack = lambda *_: True
packed = load()
assert packed.tower.packed
assert packed.encode_corpus(["w1 w2", "w3"]).any()
print([name in sys.modules for name in left_out])
"""


@pytest.fixture(scope="module")
def lean(tiny_bert: Path) -> list[str]:
    """Give the output of a fresh process: vectors, and the modules loaded for them and for packed ones."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LEAN, tiny_bert]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_model_is_loaded_without_the_compiler_and_has_the_same_vectors(tiny_bert: Path, lean: list[str]) -> None:
    importlib.import_module("torch._dynamo")
    importlib.import_module("transformers.models.bert.modeling_bert")
    system = EncoderSettings(name="tiny", model=str(tiny_bert), max_length=64, pooling="mean")
    whole = TransformersEncoder(system, tiny_bert, device="cpu", precision="float32", token_budget=64)
    assert lean[0] == whole.encode_corpus(TEXTS).tobytes().hex()
    assert lean[1] == "[False, False, False]"


def test_texts_are_packed_without_the_compiler_too(lean: list[str]) -> None:
    """The kernel runs on CUDA alone; on torch's device without data, all that Python does to call it runs too."""
    assert lean[2] == "[False, False, False]"


def replaced() -> list[object]:
    return [torch.distributed.is_available, torch.compiler.disable, transformers.utils.is_scipy_available, set(sys.modules)]


def test_stand_ins_are_there_while_it_loads_and_gone_afterwards() -> None:
    def load() -> str:
        assert not torch.distributed.is_available()
        assert not transformers.utils.is_scipy_available()
        assert torch.compiler.disable(len) is len
        assert torch.compiler.disable(recursive=False)(len) is len
        return "loaded"

    before = replaced()
    assert load_lean(load) == "loaded"
    assert replaced() == before


@pytest.mark.parametrize("error", [ImportError, AttributeError, ZeroDivisionError])
def test_whoever_needs_more_than_the_stand_ins_has_everything_and_other_errors_pass(error: type[Exception]) -> None:
    before, calls = replaced(), []

    def load() -> str:
        calls.append(torch.distributed.is_available())
        if len(calls) == 1:
            raise error("no such name")
        return "loaded"

    if error is ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            load_lean(load)
        assert calls == [False]
    else:
        assert load_lean(load) == "loaded"
        assert calls == [False, torch.distributed.is_available()]
    assert replaced() == before


def test_masks_of_functions_load_the_compiler_when_they_need_it() -> None:
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    assert isinstance(lean_imports._transform_get_item_to_index(), TransformGetItemToIndex)
