"""Encoders give a pair the score that their own family gives it, and so its order where every document is ranked again."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from beirflow.core.errors import ModelError
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.dense.top_k import exact_top_k
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.rerank.scorers.dense_pairs import DensePairs
from beirflow.families.rerank.scorers.late_pairs import LatePairs
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.encoders.load import load_encoder
from beirflow.ranking.ranking import Cut, byte_order
from tiny_colbert import save_colbert
from token_vectors import text_scores
from workflow_runs import words

ON: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
QUERIES = [words(100 + i, 2 + i % 5) for i in range(6)]
DOCUMENTS = [words(i - (i % 5 == 1), 1 + (7 * (i - (i % 5 == 1))) % 40) for i in range(30)]
"""Every fifth text twice."""

PAIRS = [(query, document) for query in QUERIES for document in DOCUMENTS]


@pytest.fixture(scope="session")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_colbert(tmp_path_factory.mktemp("late") / "colbert")


def dense(folder: Path, similarity: str = "dot") -> DenseSettings:
    return DenseSettings("mine", str(folder), pooling="mean", similarity=similarity, query_prefix="w7 ")


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_a_dense_system_ranks_all_documents_as_in_its_own_run(tiny_bert: Path, similarity: str) -> None:
    settings = dense(tiny_bert, similarity)
    vectors = (
        np.concatenate(list(load_encoder(settings.encoding, kind, **ON).windows(texts, kind)))
        for kind, texts in (("queries", QUERIES), ("documents", DOCUMENTS))
    )
    order, nothing = byte_order(pa.array([f"d{i}" for i in range(len(DOCUMENTS))])), np.full(len(QUERIES), -1)
    how: dict[str, Any] = {"similarity": similarity, "device": torch.device("cpu")}
    numbers, rows, expected = exact_top_k(*vectors, Cut(len(DOCUMENTS), order, nothing), **how)
    found = DensePairs(settings, **ON).scores(PAIRS).reshape(len(QUERIES), -1)
    np.testing.assert_allclose(found[numbers, rows], expected, rtol=1e-5, atol=1e-6)
    assert (found[:, 1::5] == found[:, 0::5]).all()
    ranked = [sorted(range(len(DOCUMENTS)), key=lambda row: (found[query, row], order[row]), reverse=True) for query in range(6)]
    assert ranked == rows.reshape(len(QUERIES), -1).tolist()


def test_late_interaction_ranks_all_documents_as_in_its_own_run(colbert: Path) -> None:
    settings = LateSettings("mine", str(colbert))
    queries, documents = (
        TokenVectors.together(list(TokenEncoder(settings, colbert, kind, **ON).windows(texts)))
        for kind, texts in (("queries", QUERIES), ("documents", DOCUMENTS))
    )
    expected = text_scores(queries, documents)
    model = LatePairs(settings, **ON)
    found = model.scores(PAIRS).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    close = np.abs(found - expected).max()
    for here, there in zip(found, expected, strict=True):
        assert (np.diff(there[np.argsort(-here)]) <= 2 * close).all()
    assert (found[:, 1::5] == found[:, 0::5]).all()
    assert set(model.counts()) == {"tokens", "truncated_queries", "truncated_documents"}
    assert model.counts()["truncated_documents"] > 0


def test_windows_change_no_more_than_rounding_and_some_pairs_are_those_of_all(
    tiny_bert: Path, colbert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = PAIRS[3::7]
    every = [DensePairs(dense(tiny_bert), **ON).scores(PAIRS), LatePairs(LateSettings("mine", str(colbert)), **ON).scores(PAIRS)]
    for encoder in (TransformersEncoder, TokenEncoder):
        monkeypatch.setattr(encoder, "window", 4)
    np.testing.assert_allclose(DensePairs(dense(tiny_bert), **ON).scores(some), every[0][3::7], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(LatePairs(LateSettings("mine", str(colbert)), **ON).scores(some), every[1][3::7], rtol=1e-3)
    assert DensePairs(dense(tiny_bert), **ON).scores([]).shape == (0,)


def test_a_vector_that_is_not_finite_is_named(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = DensePairs(dense(tiny_bert), **ON)
    encoder = model._encoders["queries"]
    pooled = encoder._pooled  # type: ignore[attr-defined]
    monkeypatch.setattr(encoder, "_pooled", lambda *batch: pooled(*batch) * float("nan"))
    with pytest.raises(ModelError, match=r"system mine: the vector of .*, one of the queries, holds infinity or not-a-number"):
        model.scores(PAIRS[:1])
