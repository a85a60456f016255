"""The family as the experiment sees it: its keys, its lengths by dataset, and models that belong to other families."""

import re
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from tiny_colbert import save_colbert
from zoo import change_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_colbert(tmp_path_factory.mktemp("model") / "model")


def experiment(folder: Path, **entry: Any) -> Experiment:
    system = {"family": "late-interaction", "model": str(folder), **entry}
    return load_experiment({"systems": ["mine"], "datasets": ["scifact"], "custom": {"systems": {"mine": system}}})


def test_lengths_of_queries_are_those_of_the_dataset(folder: Path) -> None:
    found = experiment(folder, query_length=20, query_lengths={"scifact": 48, "cqadupstack": 40})
    lengths = {name: found.settings_for("mine", name).query_length for name in ("scifact", "nfcorpus", "cqadupstack-tex")}
    assert lengths == {"scifact": 48, "nfcorpus": 20, "cqadupstack-tex": 40}
    assert found.settings_for("mine", "scifact").query_lengths == {}
    assert {path.rpartition("/")[2] for path in found.model_files("mine")} >= {"artifact.metadata", "model.safetensors"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"pooling": "mean"}, "custom.systems.mine.pooling: found 'pooling'"),
        ({"query_length": 1}, "custom.systems.mine.query_length: found 1"),
        ({"query_lengths": {"scifact": "long"}}, "custom.systems.mine.query_lengths.scifact: found 'long'"),
        ({"model": "/nowhere"}, "custom.systems.mine.model: found '/nowhere'; nothing is there"),
        ({"weights": "model.onnx"}, "custom.systems.mine.weights: found 'model.onnx'"),
        ({"family": "dense"}, "a system of family late-interaction takes such models"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_runs(folder: Path, entry: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        experiment(folder, **entry)


def test_a_dense_system_names_the_family_of_a_colbert_whatever_its_class(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model")
    change_json(folder / "config.json", architectures=["BertModel"])
    with pytest.raises(ConfigError, match=r"has artifact\.metadata, so it is a ColBERT.*a system of family late-interaction"):
        experiment(folder, family="dense", pooling="mean", similarity="dot")
