"""Kinds of rerankers are told by config.json, and unknown ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import ModelError
from beirflow.families.rerank.family import FAMILY
from beirflow.families.rerank.kinds import kind_of
from beirflow.families.rerank.settings import RerankSettings
from tiny_cross_encoder import save_cross_encoder
from zoo import change_json


def kind(folder: Path, architectures: Any, **settings: Any) -> str:
    (folder / "config.json").write_text(json.dumps({"architectures": architectures}))
    return kind_of(folder, RerankSettings("asked", str(folder), first="bm25", **settings))


def test_a_kind_is_what_the_files_or_else_the_configuration_say(tmp_path: Path) -> None:
    assert kind(tmp_path, ["BertForSequenceClassification"]) == "cross-encoder"
    assert kind(tmp_path, ["T5ForConditionalGeneration"], kind="monot5") == "monot5"
    assert kind(tmp_path, ["Qwen3ForCausalLM"], kind="qwen3-reranker", instruction="Find it") == "qwen3-reranker"


@pytest.mark.parametrize(
    ("name", "stated", "says"),
    [
        ("T5ForConditionalGeneration", None, r"its files do not say what it is asked and answers\. .* 'kind: monot5'"),
        ("Qwen3ForCausalLM", None, r"its files do not say what it is asked and answers\. .* 'kind: qwen3-reranker'"),
        ("T5ForConditionalGeneration", "qwen3-reranker", "'kind' is qwen3-reranker. If it was trained as monot5 was"),
        ("BertForSequenceClassification", "monot5", "a cross-encoder by its files, but 'kind' is monot5; remove 'kind'"),
        ("LlamaForCausalLM", "qwen3-reranker", "says that the model is LlamaForCausalLM; expected a cross-encoder"),
        ("Qwen3ForSequenceClassification", None, "Qwen3ForSequenceClassification: a decoder, which reads pairs in a prompt"),
    ],
)
def test_a_kind_that_nobody_states_or_that_is_another_is_refused(
    tmp_path: Path, name: str, stated: str | None, says: str
) -> None:
    with pytest.raises(ModelError, match=says):
        kind(tmp_path, [name], kind=stated)


@pytest.mark.parametrize("names", [["MT5ForConditionalGeneration"], ["LlamaForCausalLM"], ["BertForMaskedLM"], None, "T5", []])
def test_other_classes_are_refused_with_the_reason(tmp_path: Path, names: Any) -> None:
    with pytest.raises(ModelError, match=r"expected a cross-encoder, .* is not in their files"):
        kind(tmp_path, names)


def test_an_instruction_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a monot5, which reads no instruction"):
        kind(tmp_path, ["T5ForConditionalGeneration"], kind="monot5", instruction="Find it")
    with pytest.raises(ModelError, match="is a cross-encoder, which reads no instruction"):
        kind(tmp_path, ["BertForSequenceClassification"], instructions={"scifact": "Find it"})


def test_a_folder_that_is_no_reranker_is_refused_before_anything_runs(tmp_path: Path) -> None:
    settings = RerankSettings("crossed", str(save_cross_encoder(tmp_path)), first="bm25")
    assert FAMILY.problem(settings) is None
    change_json(tmp_path / "config.json", architectures=["BertModel"])
    found = FAMILY.problem(settings)
    assert (found.key, "says that the model is BertModel" in found.problem) == ("model", True)
