"""Where oneDNN multiplies, every model gives what it gives by torch's own products."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import Weigher
from beirflow.models.computing import loading
from beirflow.models.computing.loading import with_fast_products
from beirflow.models.computing.text_model import TextModel
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from beirflow.run.hardware import FLAGS, of_processor
from loaded_scorers import loaded
from processors import AMD, INTEL, processor_of
from tiny_answers import save_tiny_monot5, save_tiny_qwen3
from tiny_bert import ARCHITECTURES, WORDS, save_model
from tiny_colbert import save_colbert
from tiny_cross_encoder import KINDS, save_cross_encoder
from tiny_sparse import save_masked_lm, save_sparta, save_unicoil, spread
from zoo import of_bert, t5

TEXTS = ["w1 w2 w3", "", "w5", "w7 w7 w8 unknown", " ".join(WORDS[:60]), "w9 w1 w9", " ".join(WORDS[3:40])]
HOW: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": 200}

Loaded = tuple[TextModel, np.ndarray]


def encoded(folder: Path, pooling: Any = None, **how: Any) -> tuple[TransformersEncoder, np.ndarray]:
    encoder = TransformersEncoder(EncoderSettings("tiny", str(folder), pooling=pooling), folder, **(HOW | how))
    return encoder, encoder.encode_corpus(TEXTS)


def weighed(folder: Path, **settings: Any) -> Loaded:
    weigher = Weigher("s", read_parts(SparseSettings("s", model=str(folder), **settings)).of("documents"), **HOW)
    return weigher, spread(Rows.together(list(weigher.windows(TEXTS, "documents"))), weigher.terms)


def token_vectors(folder: Path) -> Loaded:
    encoder = TokenEncoder(LateSettings("mine", model=str(folder)), folder, "documents", **HOW)
    return encoder, np.concatenate([part.vectors for part in encoder.windows(TEXTS)])


def scored(folder: Path, **settings: Any) -> Loaded:
    scorer = loaded(folder, **settings)
    return scorer, scorer.scores([("w1 w2", text) for text in TEXTS])


MODELS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Loaded]]] = {
    **{
        f"{kind} {pooling} {sizes}": (partial(save_model, kind, **sizes), partial(encoded, pooling=pooling))
        for kind, sizes, pooling in ARCHITECTURES
    },
    "MPNet": (of_bert("mean", model_type="mpnet"), encoded),
    "T5": (t5, encoded),
    "SPLADE": (save_masked_lm, weighed),
    "uniCOIL": (save_unicoil, lambda folder: weighed(folder, head="unicoil")),
    "SPARTA": (save_sparta, lambda folder: weighed(folder, head="sparta")),
    "ColBERT": (save_colbert, token_vectors),
    **{f"cross-encoder {kind}": (partial(save_cross_encoder, kind=kind), scored) for kind in KINDS},
    "monoT5": (save_tiny_monot5, lambda folder: scored(folder, kind="monot5")),
    "Qwen 3 reranker": (save_tiny_qwen3, lambda folder: scored(folder, kind="qwen3-reranker")),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_torch_within_rounding_and_the_record_names_the_library(tmp_path: Path, name: str) -> None:
    build, compute = MODELS[name]
    folder = build(tmp_path)
    with processor_of(INTEL) as products:
        usual, expected = compute(folder)
        made, computation = usual.made(), usual.computation()
        assert not products
    with processor_of(AMD) as products:
        model, found = compute(folder)
        assert products
        assert model.made() == made
        assert model.computation() == computation | {"products": "oneDNN"}
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, atol=2e-5, rtol=2e-5)


@pytest.mark.skipif("avx512bw" not in of_processor(FLAGS), reason="this processor packs no layers in bfloat16")
def test_layers_in_bfloat16_are_packed_and_the_record_names_the_library(tiny_bert: Path) -> None:
    with processor_of(INTEL) as products:
        usual, expected = encoded(tiny_bert, "mean", precision="bfloat16")
        assert not products
    with processor_of(AMD) as products:
        model, found = encoded(tiny_bert, "mean", precision="bfloat16")
        assert products
        assert model.computation() == usual.computation() | {"products": "oneDNN"}
    difference = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert difference.max() < 2.0**-6


def test_weights_and_training_stay_those_of_torch(tiny_bert: Path) -> None:
    weights, gradients = [], []
    for vendor in (INTEL, AMD):
        with processor_of(vendor) as products:
            encoder, _ = encoded(tiny_bert, "mean")
            products.clear()
            texts = encoder.tokens_of(TEXTS, "documents")
            encoder.vectors_of(texts, np.array([0, 4]), "documents").square().sum().backward()  # type: ignore[no-untyped-call]
            assert not products
        parameters = dict(encoder.model.named_parameters())
        weights.append({name: tensor.detach() for name, tensor in parameters.items()})
        gradients.append({name: tensor.grad for name, tensor in parameters.items() if tensor.grad is not None})
    for ours, theirs in (weights, gradients):
        assert ours
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "bias"), [((12,), True), ((1, 12), True), ((0, 12), True), ((2, 3, 12), False), ((2, 0, 12), True)]
)
def test_products_have_every_shape_that_a_layer_has(shape: tuple[int, ...], bias: bool) -> None:
    layer, vectors = torch.nn.Linear(12, 20, bias=bias), torch.randn(shape)
    with torch.inference_mode(), processor_of(AMD) as products:
        expected = layer(vectors)
        assert not products
        found = with_fast_products(layer)(vectors)
    assert products == [(20, 12)]
    torch.testing.assert_close(found, expected)


def test_packed_weights_are_those_of_the_layer_after_each_change() -> None:
    layer, vectors = torch.nn.Linear(12, 20), torch.randn(3, 12)
    with processor_of(AMD) as products:
        packed = with_fast_products(layer)
        trainer = torch.optim.SGD(layer.parameters(), lr=1.0)
        packed(vectors).sum().backward()
        other = torch.nn.Linear(12, 20).state_dict()
        for change in (bool, trainer.step, lambda: layer.load_state_dict(other), lambda: layer.double().float()):
            change()
            with torch.inference_mode():
                torch.testing.assert_close(packed(vectors), vectors @ layer.weight.T + layer.bias)
    assert len(products) == 4


def test_a_model_too_large_to_be_there_twice_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_PACKED", 12 * 20 * 4 - 1)
    layer, vectors = torch.nn.Linear(12, 20), torch.randn(3, 12)
    with torch.inference_mode(), processor_of(AMD) as products:
        expected = layer(vectors)
        torch.testing.assert_close(with_fast_products(layer)(vectors), expected)
    assert products == [(20, 12)]
    assert type(layer) is loading.Linear
