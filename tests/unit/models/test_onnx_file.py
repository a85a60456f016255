"""Weights beside an ONNX file: each file of them is hashed, fetched, and refused where it is elsewhere."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from transformers import AutoModel

from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError
from beirflow.models.computing.loading import load_model
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.model_files import model_digests
from beirflow.models.model_places import model_problem
from beirflow.models.onnx_file import read_onnx
from beirflow.models.settings import EncoderSettings
from onnx_twin import GRAPH, export
from tiny_bert import save_model, saved_once


def save(path: Path, tensors: Iterable[Any], inner: Iterable[Any] = (), **changes: Any) -> Path:
    """A graph with these initializers, and with others in a branch of a node."""
    branch = helper.make_graph([helper.make_node("Constant", [], ["c"], value=each) for each in inner], "branch", [], [])
    nodes = [helper.make_node("If", ["a"], ["b"], then_branch=branch, else_branch=branch)]
    model = helper.make_model(helper.make_graph(nodes, "graph", [], [], list(tensors)))
    onnx.save(model, path, **changes)
    return path


def numbers(kind: Any, count: int) -> Any:
    """A tensor without a file of its own."""
    return helper.make_tensor(f"t{kind}{count}", kind, [count], np.zeros(count))


@pytest.mark.parametrize(
    ("tensors", "precision"),
    [
        ([numbers(TensorProto.FLOAT, 1000), numbers(TensorProto.INT64, 90)], "float32"),
        ([numbers(TensorProto.FLOAT, 1000), numbers(TensorProto.UINT8, 3)], "float32"),
        ([numbers(TensorProto.FLOAT, 1000), numbers(TensorProto.INT8, 500)], "int8"),
        ([numbers(TensorProto.FLOAT, 10), numbers(TensorProto.UINT8, 500)], "int8"),
        ([numbers(TensorProto.FLOAT16, 10)], "float16"),
        ([numbers(TensorProto.BFLOAT16, 10), numbers(TensorProto.INT4, 10)], "int4"),
    ],
)
def test_the_precision_is_the_lowest_that_weights_have(tensors: list[Any], precision: str, tmp_path: Path) -> None:
    assert read_onnx(save(tmp_path / "in.onnx", tensors)).precision == precision
    assert read_onnx(save(tmp_path / "inner.onnx", [numbers(TensorProto.FLOAT, 1)], tensors)).precision == precision


def moved_out(folder: Path, name: str = "model.onnx_data") -> Path:
    """The folder with the weights of its graph in another file."""
    graph = onnx.load(folder / GRAPH)
    onnx.save(graph, folder / GRAPH, save_as_external_data=True, location=name, size_threshold=0)
    return folder


def renamed(path: Path, name: str) -> None:
    """Let a graph name another file for its weights."""
    graph = onnx.load(path, load_external_data=False)
    for tensor in graph.graph.initializer:
        for entry in tensor.external_data:
            entry.value = name if entry.key == "location" else entry.value
    path.write_bytes(graph.SerializeToString())


@saved_once
def save_graph(folder: Path) -> Path:
    return export(save_model("bert", folder, num_hidden_layers=1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_graph(tmp_path / "model")


def system(folder: Path, **fields: Any) -> EncoderSettings:
    return EncoderSettings(name="mine", model=str(folder), pooling="mean", **{"weights": GRAPH, **fields})


def vectors(folder: Path, **fields: Any) -> np.ndarray:
    encoder = TransformersEncoder(system(folder, **fields), folder, device="cpu", precision="float32", token_budget=99)
    return encoder.encode_corpus(["w1 w2", "w3"])


def test_weights_beside_a_graph_are_hashed(folder: Path) -> None:
    assert set(model_digests(system(folder))) == {GRAPH, "config.json", "tokenizer.json", "tokenizer_config.json"}
    before = vectors(folder)
    moved_out(folder)
    data = folder / "onnx/model.onnx_data"
    assert read_onnx(folder / GRAPH).elsewhere == ("model.onnx_data",)
    assert model_digests(system(folder))["onnx/model.onnx_data"] == file_digest(data)
    np.testing.assert_array_equal(vectors(folder), before)
    data.unlink()
    assert str(model_problem(system(folder))).startswith(f"{data} is missing, though its index or its graph names it")


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a/b", "..\\x", ".hidden", ""])
def test_weights_elsewhere_are_refused(name: str, folder: Path) -> None:
    renamed(moved_out(folder) / GRAPH, name)
    if name:
        assert "names weights outside its folder" in str(model_problem(system(folder)))
    with pytest.raises(ModelError):
        vectors(folder)


def test_a_folder_with_nothing_but_graphs_says_how_they_are_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    problem = str(model_problem(system(folder, weights="model.safetensors")))
    assert problem.endswith(f"or name its file in 'weights'; it has {GRAPH}")
    assert model_problem(system(folder)) is None


def test_only_dense_systems_read_a_graph(folder: Path) -> None:
    with pytest.raises(ModelError, match="is an ONNX graph, which only dense systems read; name a file of torch"):
        load_model(AutoModel, folder, GRAPH, torch.float32)


def test_links_as_a_hub_keeps_them_are_followed(folder: Path) -> None:
    """A hub's cache names every file by its digest, and links to it."""
    before = vectors(moved_out(folder))
    blobs = folder.parent / "blobs"
    blobs.mkdir()
    for number, path in enumerate([path for path in folder.rglob("*") if path.is_file()]):
        path.rename(blobs / str(number))
        path.symlink_to(blobs / str(number))
    np.testing.assert_array_equal(vectors(folder), before)


def test_a_graph_is_checked_in_pieces(tmp_path: Path) -> None:
    """However it is cut or changed, what comes back is an answer or an error in words."""
    whole = save(tmp_path / "a.onnx", [numbers(TensorProto.FLOAT, 9)], [numbers(TensorProto.INT8, 9)]).read_bytes()
    rng = np.random.default_rng(3)
    path = tmp_path / "b.onnx"
    refused = 0
    for _ in range(300):
        content = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content)
        with suppress(ModelError):
            read_onnx(path)
            continue
        refused += 1
    assert refused > 100
