"""Which kind of reranker a folder holds is what its config.json says, and what is not known is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from beirflow.files.errors import ModelError
from beirflow.rerank.family import FAMILY
from beirflow.rerank.kinds import kind_of
from beirflow.rerank.settings import RerankSettings
from tiny_cross_encoder import save_cross_encoder


def kind(folder: Path, architectures: Any, **settings: Any) -> str:
    (folder / "config.json").write_text(json.dumps({"architectures": architectures}))
    return kind_of(folder, RerankSettings("asked", str(folder), first="bm25", **settings))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BertForSequenceClassification", "cross-encoder"),
        ("T5ForConditionalGeneration", "monot5"),
        ("Qwen3ForCausalLM", "qwen3-reranker"),
    ],
)
def test_a_class_is_one_kind(tmp_path: Path, name: str, expected: str) -> None:
    assert kind(tmp_path, [name]) == expected


@pytest.mark.parametrize("names", [["MT5ForConditionalGeneration"], ["LlamaForCausalLM"], ["BertForMaskedLM"], None, "T5", []])
def test_other_classes_are_refused_with_the_reason(tmp_path: Path, names: Any) -> None:
    with pytest.raises(ModelError, match=r"expected a cross-encoder, .* is not in their files"):
        kind(tmp_path, names)


def test_an_instruction_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a monot5, which reads no instruction"):
        kind(tmp_path, ["T5ForConditionalGeneration"], instruction="Find it")
    with pytest.raises(ModelError, match="is a cross-encoder, which reads no instruction"):
        kind(tmp_path, ["BertForSequenceClassification"], instructions={"scifact": "Find it"})
    assert kind(tmp_path, ["Qwen3ForCausalLM"], instruction="Find it") == "qwen3-reranker"


def test_a_folder_that_is_no_reranker_is_refused_before_anything_runs(tmp_path: Path) -> None:
    settings = RerankSettings("crossed", str(save_cross_encoder(tmp_path)), first="bm25")
    assert FAMILY.problem(settings) is None
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": ["BertModel"]}))
    found = FAMILY.problem(settings)
    assert found is not None
    assert (found.key, "says that the model is BertModel" in found.problem) == ("model", True)


def test_a_decoder_that_gives_one_number_is_refused_as_its_prompt_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Qwen3ForSequenceClassification: a decoder, which reads pairs in a prompt"):
        kind(tmp_path, ["Qwen3ForSequenceClassification"])
