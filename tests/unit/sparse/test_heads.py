"""Every weight of a model is used, or the model is refused with the name of what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from beirflow.files.errors import ModelError
from beirflow.sparse.heads import load_part
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.parts import Part
from beirflow.sparse.settings import SparseSettings
from safetensors.torch import load_file, save_file
from tiny_bert import save_model, save_tiny_bert
from tiny_sparse import TERMS, save_masked_lm, save_sparta, save_unicoil
from transformers import AutoConfig, AutoModelForMaskedLM

Weights = dict[str, torch.Tensor]

SAVE: dict[str, Callable[[Path], Path]] = {"splade": save_masked_lm, "unicoil": save_unicoil, "sparta": save_sparta}


def part_of(folder: Path, head: str = "splade") -> Part:
    return read_parts(SparseSettings("s", model=str(folder), head=head), folder, None).documents


def change(folder: Path, changed: Callable[[Weights], Weights]) -> None:
    path = folder / "model.safetensors"
    save_file({name: value.contiguous() for name, value in changed(load_file(path)).items()}, path, metadata={"format": "pt"})


def load(folder: Path, head: str = "splade") -> None:
    load_part(part_of(folder, head), torch.float32)


@pytest.mark.parametrize(
    ("head", "missing", "says"),
    [
        ("splade", "cls.predictions.transform.dense.weight", "cls.predictions.transform.dense.weight; these would be random"),
        ("unicoil", "coil_encoder.tok_proj.weight", "tok_proj.weight; these would be random"),
        ("unicoil", "coil_encoder.bert.encoder.layer.1.output.dense.bias", "layer.1.output.dense.bias"),
        ("sparta", "transformer.layer.0.ffn.lin1.weight", "layer.0.ffn.lin1.weight; these would be random"),
    ],
)
def test_a_missing_weight_is_refused(tmp_path: Path, head: str, missing: str, says: str) -> None:
    SAVE[head](tmp_path)
    load(tmp_path, head)
    change(tmp_path, lambda weights: {name: value for name, value in weights.items() if name != missing})
    with pytest.raises(ModelError, match=says):
        load(tmp_path, head)


@pytest.mark.parametrize("head", list(SAVE))
def test_a_weight_that_nothing_uses_is_refused(tmp_path: Path, head: str) -> None:
    SAVE[head](tmp_path)
    change(tmp_path, lambda weights: {**weights, "extra.weight": torch.ones(3)})
    with pytest.raises(ModelError, match=r"unused weights, .*extra\.weight"):
        load(tmp_path, head)


def test_the_pooler_and_the_other_task_of_bert_are_no_part_of_the_head(tmp_path: Path) -> None:
    save_masked_lm(tmp_path)
    more = {"cls.seq_relationship.weight": torch.ones(2, 32), "cls.seq_relationship.bias": torch.ones(2)}
    more |= {"bert.pooler.dense.weight": torch.ones(32, 32), "bert.pooler.dense.bias": torch.ones(32)}
    change(tmp_path, lambda weights: weights | more)
    load(tmp_path)


def test_a_model_without_the_head_is_refused(tmp_path: Path) -> None:
    save_tiny_bert(tmp_path)
    with pytest.raises(ModelError, match=r"no weights for cls\.predictions.*head: splade is a masked language model"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"no weights for tok_proj"):
        load(tmp_path, "unicoil")


def test_a_head_of_another_size_is_refused(tmp_path: Path) -> None:
    save_unicoil(tmp_path)
    change(tmp_path, lambda weights: weights | {"coil_encoder.tok_proj.weight": torch.ones(1, 31)})
    with pytest.raises(ModelError, match=r"tok_proj.weight of shape \(1, 31\), expected \(1, 32\)"):
        load(tmp_path, "unicoil")
    save_masked_lm(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": TERMS + 1}))
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(tmp_path)


@pytest.mark.parametrize("model_type", ["distilbert", "roberta", "modernbert", "electra", "albert", "mpnet"])
def test_heads_of_other_models_are_found_by_their_last_layer(tmp_path: Path, model_type: str) -> None:
    save_model(model_type, tmp_path)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(tmp_path)
    AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path)
    _, loaded = load_part(part_of(tmp_path), torch.float32)
    assert not isinstance(loaded, torch.Tensor)
    assert loaded
    assert loaded.terms == TERMS
    ids = torch.tensor([[5, 6, 7, 8]])
    model = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        hidden = loaded.model(input_ids=ids, attention_mask=torch.ones_like(ids))[loaded.output]
        expected = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    assert loaded.vocabulary
    torch.testing.assert_close(torch.nn.functional.linear(hidden, *loaded.vocabulary), expected, rtol=1e-5, atol=1e-5)


def test_a_model_whose_logits_are_not_finite_is_refused(tmp_path: Path) -> None:
    save_masked_lm(tmp_path)
    change(tmp_path, lambda weights: weights | {"cls.predictions.bias": torch.full((TERMS,), float("inf"))})
    with pytest.raises(ModelError, match=r"the logits of the bert model in .* are not finite"):
        load(tmp_path)


@pytest.mark.parametrize("wrong", [-0.5, float("inf"), float("nan")])
def test_a_table_of_weights_that_are_none_is_refused(tmp_path: Path, wrong: float) -> None:
    save_tiny_bert(tmp_path)
    table = torch.rand(TERMS)
    table[7] = wrong
    save_file({"weight": table}, tmp_path / "model.safetensors")
    part = Part("table", tmp_path, (tmp_path / "model.safetensors",))
    with pytest.raises(ModelError, match=r"the token 7; weights of terms are finite and not negative"):
        load_part(part, torch.float32)


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    save_tiny_bert(tmp_path)
    part = Part("table", tmp_path, (tmp_path / "model.safetensors",))
    with pytest.raises(ModelError, match="expected one weight per token"):
        load_part(part, torch.float32)
    (tmp_path / "idf.json").write_text(json.dumps({"w1": 1.0, "elsewhere": 2.0}))
    with pytest.raises(ModelError, match="the token 'elsewhere', which the tokenizer"):
        load_part(Part("table", tmp_path, (tmp_path / "idf.json",)), torch.float32)
    (tmp_path / "idf.json").write_text('{"w1":' * 100_000)
    with pytest.raises(ModelError, match=r"idf.json cannot be read as JSON"):
        load_part(Part("table", tmp_path, (tmp_path / "idf.json",)), torch.float32)
