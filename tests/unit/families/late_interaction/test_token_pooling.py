"""Pooled vectors are those of a plain Ward linkage, and of sentence-transformers; records say that something is lost."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules.token_pooling import HierarchicalTokenPooling

from beirflow.core.records import read_json
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.token_pooling import pooled
from lexical_results import DATASET
from model_results import LateResults
from tiny_bert import WORDS
from tiny_colbert import save_colbert


def unit(tokens: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((tokens, 8)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def plain(vectors: np.ndarray, factor: int) -> list[list[float]]:
    """Merge the two nearest groups until few enough are left; distances as Ward's formula has them. Sorted means."""
    others = vectors[1:].astype(np.float64)
    groups = [[i] for i in range(len(others))]
    apart = np.clip(1 - others @ others.T, 0, 2)
    while len(groups) > max(len(others) // factor, 1):
        pairs = [(apart[i, j], i, j) for i in range(len(groups)) for j in range(i)]
        between, s, t = min(pairs)
        sizes = np.array([len(group) for group in groups])
        total = sizes + sizes[s] + sizes[t]
        merged = (sizes + sizes[s]) * apart[s] ** 2 + (sizes + sizes[t]) * apart[t] ** 2 - sizes * between**2
        apart[s], apart[:, s] = [np.sqrt(np.maximum(merged, 0) / total)] * 2
        groups[s] = groups[s] + groups[t]
        groups.pop(t)
        apart = np.delete(np.delete(apart, t, 0), t, 1)
    return sorted(others[group].mean(axis=0).tolist() for group in groups)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("tokens", [0, 1, 2, 3, 7, 40])
def test_groups_are_those_of_the_definition_and_of_sentence_transformers(tokens: int, factor: int) -> None:
    vectors = unit(tokens, seed=tokens)
    found = pooled(vectors, factor)
    theirs = HierarchicalTokenPooling(factor, normalize_embeddings=False).pool_one(torch.from_numpy(vectors)).numpy()
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    assert found.dtype == np.float32
    if tokens:
        assert len(found) == 1 + (tokens - 1 if tokens < 3 else max((tokens - 1) // factor, 1))
        np.testing.assert_array_equal(found[0], vectors[0])
        means = [np.array(each).reshape(-1, 8) for each in (sorted(found[1:].tolist()), plain(vectors, factor))]
        np.testing.assert_allclose(*means, atol=1e-6)


def test_equal_tokens_are_one_group() -> None:
    vectors = np.repeat(unit(2), [1, 6], axis=0)
    np.testing.assert_allclose(pooled(vectors, 2), unit(2), atol=1e-7)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_colbert(tmp_path_factory.mktemp("pooled") / "model")


def test_documents_are_pooled_and_queries_are_not(model: Path) -> None:
    texts = ["w1 . w2 , w9 w3 w4", "", " ".join(f"w{i}" for i in range(70)), "w5"]
    how: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
    for kind in ("queries", "documents"):
        encoder = TokenEncoder(LateSettings("s", model=str(model), pool_factor=3), model, kind, **how)  # type: ignore[arg-type]
        oracle = MultiVectorEncoder(str(model), device="cpu", local_files_only=True)
        pooling = HierarchicalTokenPooling(3, normalize_embeddings=False)
        theirs = oracle.encode_query(texts) if kind == "queries" else oracle.encode_document(texts, token_pooling=pooling)
        (found,) = encoder.windows(texts)
        assert found.counts.tolist() == [len(each) for each in theirs]
        np.testing.assert_allclose(found.vectors, np.concatenate([np.asarray(each) for each in theirs]), atol=2.0**-11)
        assert ("lossy" in encoder.made()) == ("pool_factor" in encoder.described()) == (kind == "documents")
        assert "pool_factor" in encoder.described()["overridden"]


def test_a_pooled_system_runs_and_says_that_it_is_lossy(model: Path, tmp_path: Path) -> None:
    settings = LateSettings("s", model=str(model), pool_factor=2)
    corpus = [(f"d{i:02}", "", " ".join(WORDS[i : i + 7])) for i in range(60)]
    made = LateResults(tmp_path, corpus, {f"q{i}": " ".join(WORDS[3 * i : 3 * i + 2]) for i in range(5)}, size=30, top_k=9)
    made.make_all(settings).find_all(settings)
    record = read_json(made.results / f"tokens/s/{DATASET}/chunk-0.json")
    assert "not those of all tokens" in record["made"]["lossy"]
    assert read_json(made.results / f"runs/s/{DATASET}.json")["made"]["lossy"] == record["made"]["lossy"]
    assert record["counts"]["vectors_of_documents"] < 0.6 * record["counts"]["tokens"]
