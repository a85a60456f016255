"""Weights that a BERT gives to words: those of a plain forward pass, put together as DeepCT's authors do."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertForTokenClassification

from beirflow.core.errors import ModelError
from beirflow.extensions.expansions.word_weigher import WordWeigher
from beirflow.families.expansions.settings import WordWeights
from tiny_expanders import save_deepct
from workflow_runs import words
from zoo import change_json

TEXTS = ["w1 w2abc UNABLE w2abc", "", "w3d caf\u00e9 w3 w3d", *(words(i, 3 + 7 * i % 40) for i in range(6))]
IDS = [f"d{i}" for i in range(len(TEXTS))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_deepct(tmp_path_factory.mktemp("deepct"))


def weigher(folder: Path, budget: int | str = 60, max_length: int | None = 30) -> WordWeigher:
    settings = WordWeights(str(folder), max_length=max_length)
    return WordWeigher(settings, folder, device="cpu", precision="float32", token_budget=budget)


def weighed(reader: WordWeigher) -> list[dict[str, float]]:
    found = {}
    for part in reader.parts(IDS, TEXTS):
        found |= zip(part.rows.tolist(), part.values, strict=True)
    return [dict(zip(*found[row], strict=True)) for row in range(len(TEXTS))]


def plainly(folder: Path, reader: WordWeigher, text: str) -> dict[str, float]:
    """The weight of the first piece of each word, of a repeated one the largest; one text at a time."""
    model = BertForTokenClassification.from_pretrained(folder).eval()
    ids = reader.tokenizer(text, truncation=True, max_length=30)["input_ids"]
    with torch.inference_mode():
        hidden = model.bert(input_ids=torch.tensor([ids])).last_hidden_state[0]
        logits = (hidden @ model.classifier.weight[0] + model.classifier.bias[0]).tolist()
    found: list[tuple[str, float]] = []
    for piece, weight in zip(reader.tokenizer.convert_ids_to_tokens(ids), logits, strict=True):
        if piece.startswith("##"):
            found[-1] = (found[-1][0] + piece[2:], found[-1][1])
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            found.append((piece, weight))
    largest: dict[str, float] = {}
    for word, weight in found:
        largest[word] = max(largest.get(word, 0.0), weight)
    return {word: weight for word, weight in largest.items() if weight > 5e-6}


def test_weights_are_those_of_the_formula(folder: Path) -> None:
    reader = weigher(folder)
    found = weighed(reader)
    assert found[1] == {}
    for text, words_of in zip(TEXTS, found, strict=True):
        if text:
            assert words_of == pytest.approx(plainly(folder, reader, text), abs=1.5e-5)
    assert any("w2abc" in each or "unable" in each for each in found)
    assert any("[UNK]" in each for each in found)
    assert all(weight == round(weight, 5) > 0 for each in found for weight in each.values())


@pytest.mark.parametrize("budget", [1, "auto"])
def test_weights_depend_on_no_batch(folder: Path, budget: int | str) -> None:
    expected, found = weighed(weigher(folder)), weighed(weigher(folder, budget))
    for before, after in zip(expected, found, strict=True):
        assert after == pytest.approx(before, abs=1.5e-5)


def test_a_document_is_cut_and_counted(folder: Path) -> None:
    reader = weigher(folder)
    parts = list(reader.parts(IDS, TEXTS))
    assert sum(part.counts.get("truncated_documents", 0) for part in parts) == sum(len(text.split()) > 28 for text in TEXTS) > 0
    assert weigher(folder, max_length=None).max_length == weigher(folder, max_length=350).max_length == 64


def test_another_number_of_labels_and_weights_that_are_no_numbers_are_refused(folder: Path, tmp_path: Path) -> None:
    reader = weigher(folder)
    reader.model.bert.embeddings.word_embeddings.weight.data[reader.tokenizer.convert_tokens_to_ids("w1")] = np.inf
    with pytest.raises(ModelError, match="the weights for document 'd0' hold infinity or not-a-number"):
        list(reader.parts(IDS[:3], TEXTS[:3]))
    other = save_deepct(tmp_path)
    change_json(other / "config.json", architectures=["BertForMaskedLM"])
    with pytest.raises(ModelError, match="says that the model is BertForMaskedLM; expected DeepCT's kind"):
        weigher(other)
    model = BertForTokenClassification.from_pretrained(folder, num_labels=3, ignore_mismatched_sizes=True)
    model.save_pretrained(other)
    with pytest.raises(ModelError, match="has 3 labels; expected one, the weight"):
        weigher(other)
