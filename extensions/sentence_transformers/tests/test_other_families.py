"""Rerankers, sparse and late-interaction systems that sentence-transformers itself computes: its numbers, from our own steps."""

import importlib.metadata
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from pydantic import TypeAdapter
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling, MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SparseAutoEncoder, SpladePooling

from beirflow.config.models import system_model
from beirflow.data.document_text import Kind
from beirflow.families.family import Family
from beirflow.families.late_interaction.card import TOKENS
from beirflow.families.late_interaction.encoder import encoder_of
from beirflow.families.late_interaction.family import FAMILY as LATE
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.rerank.family import FAMILY as RERANK
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.sparse.family import FAMILY as SPARSE
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigh import weigher_of
from tiny_bert import WORDS
from tiny_colbert import save_backbone, save_colbert, save_pylate
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from zoo import change_json

RNG = np.random.default_rng(5)
TEXTS = [*(" ".join(RNG.choice(WORDS, length)) for length in (5, 1, 17, 9, 40, 2)), "", "W1 w2, w3 unknown"]
PAIRS = [(query, document) for query in TEXTS[:3] for document in TEXTS]
ON: Any = {"device": "cpu", "precision": "float32", "token_budget": "auto"}


METHODS: dict[Kind, str] = {"queries": "encode_query", "documents": "encode_document"}


def by(kind: type, folder: Path, **arguments: Any) -> Any:
    return kind("theirs", encoder="sentence-transformers", arguments={"model": str(folder), **arguments})


def saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


def backbone(folder: Path, **how: Any) -> Transformer:
    return Transformer(str(save_backbone(folder / "plain")), **how)


def pooled_elsewhere(folder: Path) -> Path:
    """A Pooling and a Dense that scores, and their backbone in a folder of its own."""
    torch.manual_seed(2)
    last = Dense(32, 1, activation_function=torch.nn.Identity(), module_output_name="scores")
    model = saved(CrossEncoder(modules=[backbone(folder), Pooling(32, "mean"), last], device="cpu"), folder)
    (model / "0_Transformer").mkdir()
    for path in [*model.glob("*.*")]:
        if path.name not in ("modules.json", "config_sentence_transformers.json"):
            path.rename(model / "0_Transformer" / path.name)
    modules = json.loads((model / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (model / "modules.json").write_text(json.dumps(modules))
    return model


def bare(folder: Path) -> Path:
    return save_cross_encoder(folder / "model")


def with_relu(folder: Path) -> Path:
    change_json(bare(folder) / "config.json", sbert_ce_default_activation_function="torch.nn.modules.activation.ReLU")
    return folder / "model"


RERANKERS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "a classifier alone": (bare, None),
    "its backbone in a folder of its own": (pooled_elsewhere, "config.json cannot be read"),
    "its own activation": (with_relu, None),
}


@pytest.mark.parametrize("kind", RERANKERS)
def test_pairs_have_the_scores_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = RERANKERS[kind]
    folder = build(tmp_path)
    ours = with_entry(RERANK, RerankSettings("crossed", str(folder), first="bm25", depth=7), refused) if refused else None
    settings = ours or by(RerankSettings, folder)
    assert RERANK.problem(settings) is None
    peer = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    activation = None if kind == "its own activation" else torch.nn.Identity()
    expected = peer.predict(PAIRS, activation_fn=activation, show_progress_bar=False)
    scorer = load_scorer(settings, **ON)
    np.testing.assert_allclose(scorer.scores(PAIRS), expected, atol=1e-6)
    assert np.ptp(expected) > 0.01
    assert scorer.made()["sentence_transformers"] == importlib.metadata.version("sentence-transformers")


def of_autoencoder(folder: Path) -> Path:
    """A dense model and a layer of which a few numbers are kept (CSR)."""
    torch.manual_seed(3)
    layer = SparseAutoEncoder(32, hidden_dim=96, k=10)
    return saved(SparseEncoder(modules=[backbone(folder), Pooling(32, "mean"), layer], device="cpu"), folder)


def masked(folder: Path) -> Path:
    return save_masked_lm(folder / "model")


def with_length(folder: Path) -> Path:
    """A SPLADE with a length, prompts and fewer terms."""
    own = MLMTransformer(str(masked(folder)), max_seq_length=9)
    model = SparseEncoder(modules=[own, SpladePooling("sum")], device="cpu", prompts={"query": "w1 ", "document": "w2 w3 "})
    model.max_active_dims = 30
    model.save_pretrained(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


SPARSE_MODELS = {
    "CSR": (of_autoencoder, "has the modules .* for documents"),
    "alone": (masked, None),
    "saved": (with_length, None),
}


@pytest.mark.parametrize("kind", SPARSE_MODELS)
def test_terms_have_the_weights_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = SPARSE_MODELS[kind]
    folder = build(tmp_path)
    settings = with_entry(SPARSE, SparseSettings("s", str(folder)), refused) if refused else by(SparseSettings, folder)
    assert SPARSE.problem(settings) is None
    peer = SparseEncoder(str(folder), device="cpu", local_files_only=True)
    for text_kind, method in METHODS.items():
        expected = getattr(peer, method)(TEXTS).to_dense().numpy()
        rows = Rows.together(list(weigher_of(settings, text_kind, **ON).windows(TEXTS, text_kind)))
        found = np.zeros_like(expected)
        found[np.repeat(np.arange(len(TEXTS)), rows.counts), rows.terms] = rows.weights
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert expected.max() > 0.1


def of_tokens(*more: Any, **how: Any) -> Callable[[Path], Path]:
    """A backbone, a Dense and length 1 for every token, and more modules."""

    def build(folder: Path) -> Path:
        torch.manual_seed(4)
        dense = Dense(32, 16, bias=False, activation_function=None, module_input_name=TOKENS, module_output_name=TOKENS)
        modules = [backbone(folder, **how), dense, MultiVectorMask(["."]), Normalize(TOKENS, TOKENS), *(make() for make in more)]
        return saved(MultiVectorEncoder(modules=modules, device="cpu"), folder)

    return build


def colbert(folder: Path) -> Path:
    return save_colbert(folder / "model")


def pylate(folder: Path) -> Path:
    return save_pylate(folder / "model")


LATE_MODELS = {
    "pooled tokens": (of_tokens(lambda: HierarchicalTokenPooling(2.0)), "which is not known here"),
    "ColBERT": (colbert, None),
    "PyLate": (pylate, None),
}


@pytest.mark.parametrize("kind", LATE_MODELS)
def test_tokens_have_the_vectors_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = LATE_MODELS[kind]
    folder = build(tmp_path)
    settings = with_entry(LATE, LateSettings("late", str(folder)), refused) if refused else by(LateSettings, folder)
    assert LATE.problem(settings) is None
    peer = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    for text_kind, method in METHODS.items():
        expected = getattr(peer, method)(TEXTS, convert_to_numpy=True)
        found = TokenVectors.together(list(encoder_of(settings, text_kind, **ON).windows(TEXTS)))
        assert found.counts.tolist() == [len(each) for each in expected]
        np.testing.assert_allclose(found.vectors, np.concatenate(expected), atol=2.0**-11)


def with_entry(family: Family, settings: Any, says: str) -> Any:
    """The settings of the entry that a refusal names, as it is when it is pasted."""
    problem = family.problem(settings)
    assert problem
    assert re.search(says, problem.problem)
    assert "sentence-transformers itself computes this folder" in problem.problem
    name, entry = next(iter(yaml.safe_load(problem.problem.rpartition("(docs/own-encoders.md): ")[2]).items()))
    assert name == settings.name
    TypeAdapter(system_model()).validate_python(entry)
    return family.system(name, entry).settings
