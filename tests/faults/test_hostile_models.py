"""Model folders that lie or carry code: refused in words, without running anything."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from beirflow.core.errors import DataError, ModelError
from beirflow.core.records import Job, read_json
from beirflow.families.dense.family import FAMILY as DENSE
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.late_interaction.family import FAMILY as LATE
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.rerank.family import FAMILY as RERANK
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.sparse.family import FAMILY as SPARSE
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.model_files import check_model, fetch_model
from beirflow.models.settings import EncoderSettings
from pickles import Trap

TEXTS = ["w1 w2 w3", "w4"]


def system(folder: Path) -> EncoderSettings:
    return EncoderSettings(name="mine", model=str(folder), max_length=64, pooling="mean")


def fetch(folder: Path, record_path: Path) -> dict[str, Any]:
    """Fetch a model and give its record."""
    fetch_model(
        system=system(folder), configured=["pooling", "similarity"], output_path=str(record_path), job=Job(record_path.parent)
    )
    return read_json(record_path)


def encode(folder: Path) -> np.ndarray:
    return TransformersEncoder(system(folder), folder, device="cpu", precision="float32", token_budget=512).encode_corpus(TEXTS)


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({key: value for key, value in (json.loads(path.read_text()) | changes).items() if value != "-"}))


def test_safetensors_are_read_and_a_pickle_beside_them_is_not_even_opened(
    own_bert: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    torch.save({"trap": Trap(tmp_path / "sprung")}, own_bert / "pytorch_model.bin")
    np.testing.assert_array_equal(encode(own_bert), encode(tiny_bert))
    assert "pytorch_model.bin" not in fetch(own_bert, tmp_path / "model.json")["files"]
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": 64},
        {"max_position_embeddings": 10**5},
        {"hidden_size": "thirty-two"},
        {"model_type": "no such thing"},
        {"model_type": "-", "architectures": "-"},
    ],
    ids=str,
)
def test_a_configuration_that_lies_is_refused(own_bert: Path, changes: dict[str, Any]) -> None:
    change_json(own_bert / "config.json", **changes)
    with pytest.raises(ModelError, match="system mine: "):
        encode(own_bert)


@pytest.mark.parametrize("change", ["shape", "header", "length"])
def test_weights_that_do_not_fit_are_refused(own_bert: Path, change: str) -> None:
    path = own_bert / "model.safetensors"
    if change == "shape":
        name = "embeddings.word_embeddings.weight"
        save_file({**load_file(path), name: torch.zeros(7, 32)}, path, {"format": "pt"})
    elif change == "header":
        path.write_bytes((2**40).to_bytes(8, "little") + path.read_bytes()[8:])
    else:
        path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ModelError, match=f"system mine: the model in {own_bert} cannot be loaded"):
        encode(own_bert)


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise an error in the block if it takes longer, as what has no end would."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def make_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def make_huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(2 << 30)  # zeros that take no room on the disk


@pytest.mark.parametrize("name", ["vocab.txt", "config.json", "tokenizer.json", "modules.json", "special_tokens_map.json"])
@pytest.mark.parametrize("make", [link, make_pipe, make_huge])
def test_a_file_without_end_is_refused_before_it_is_read(own_bert: Path, name: str, make: Callable[[Path], None]) -> None:
    make(own_bert / name)
    reasons = {make_huge: "has 2,147,483,648 bytes, too many"}
    families = {DENSE: DenseSettings(**asdict(system(own_bert))), RERANK: RerankSettings("mine", str(own_bert), first="bm25")}
    families |= {LATE: LateSettings("mine", str(own_bert)), SPARSE: SparseSettings("mine", str(own_bert), head="sparta")}
    with within(20):
        for family, settings in families.items():
            problem = family.problem(settings)
            assert problem is not None
            assert problem.key == "model"
            if name != "config.json" or make is make_huge:
                assert f"{own_bert / name} {reasons.get(make, 'is no regular file')}" in problem.problem
            assert family.model_files(settings) == []
        with pytest.raises(ModelError, match="system mine"):
            load_encoder(system(own_bert), "documents", device="cpu", precision="float32", token_budget=512)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_model_that_was_changed_after_it_was_fetched_is_refused(own_bert: Path, tmp_path: Path, name: str) -> None:
    record = tmp_path / "model.json"
    fetch(own_bert, record)
    check_model(system(own_bert), str(record))
    content = bytearray((own_bert / name).read_bytes())
    content[-5] ^= 1
    (own_bert / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{record}: the model in {own_bert} has another {name} .*rm {record}$"):
        check_model(system(own_bert), str(record))
    fetch(own_bert, record)
    check_model(system(own_bert), str(record))


def test_tokens_that_the_model_does_not_know_are_an_error(own_bert: Path) -> None:
    path = own_bert / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["w3"] = 5000
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(ModelError, match="system mine: the tokenizer gives the token 5000, but the model knows only 204"):
        encode(own_bert)
