"""A length of texts beyond the model is found before it is loaded, by the header of its weights."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.models.position_table import length_problem
from beirflow.models.settings import ModelSettings
from tiny_bert import save_tiny_bert


def rows_of(folder: Path) -> int:
    with safe_open(folder / "model.safetensors", "np") as tensors:
        (name,) = (name for name in tensors.keys() if "position_embeddings" in name)  # noqa: SIM118
        rows: int = tensors.get_tensor(name).shape[0]
        return rows


@pytest.mark.parametrize("family", [{"pooling": "mean", "similarity": "dot"}, {"family": "rerank", "first": "bm25"}])
def test_a_length_beyond_the_table_of_positions_is_refused_at_the_start(family: dict[str, Any], tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")
    rows = rows_of(folder)
    if "first" in family:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(
            json.dumps(config | {"architectures": ["BertForSequenceClassification"], "num_labels": 1})
        )

    def load(length: int) -> None:
        own = {"x": {"model": str(folder), "max_length": length, **family}}
        load_experiment({"systems": "x", "datasets": "scifact", "custom": {"systems": own}})

    load(rows)
    with pytest.raises(ConfigError, match=rf"x.max_length: found {rows + 1}; the model reads at most {rows} tokens"):
        load(rows + 1)


@pytest.mark.parametrize(
    "header", [b"", b"\xff" * 8, b"\x02" + bytes(7) + b"[]", b"\x28" + bytes(7) + b'{"position_embeddings.weight": {"a": 1}}']
)
def test_weights_that_cannot_be_read_are_left_to_the_job(header: bytes, tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")
    (folder / "model.safetensors").write_bytes(header)
    assert length_problem(ModelSettings("x", model=str(folder)), 10**6) is None
