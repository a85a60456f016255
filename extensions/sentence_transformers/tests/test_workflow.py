"""Systems that sentence-transformers itself computes, through Snakemake: runs, records, latency, an audit with a sample."""

import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder

from beirflow.audit.audit import run_checks
from beirflow.config.load import load_experiment
from beirflow.core.records import read_json
from tiny_colbert import save_pylate
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, config_of, small_dataset

SYSTEMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "crossed": (save_cross_encoder, {"family": "rerank", "first": "terms", "depth": 5}),
    "terms": (save_masked_lm, {"family": "sparse"}),
    "late": (save_pylate, {"family": "late-interaction"}),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    folder = tmp_path_factory.mktemp("work")
    systems = {
        name: {**entry, "encoder": "sentence-transformers", "arguments": {"model": str(save(folder / "models" / name))}}
        for name, (save, entry) in SYSTEMS.items()
    }
    systems["pairs"] = {"family": "rerank", "first": "terms", "model": "late", "depth": 5}
    workflow = Workflow(folder, config_of(systems, small_dataset(folder / "small", 24, queries=3)))
    workflow.run("results/summary.csv", *(f"results/latency/{name}/small.json" for name in SYSTEMS))
    return workflow


def expected(name: str, folder: Path, queries: list[str], documents: list[str]) -> np.ndarray:
    """The scores of pairs of texts by the library."""
    how: dict[str, Any] = {"device": "cpu", "local_files_only": True}
    if name == "crossed":
        return CrossEncoder(str(folder), **how).predict(
            list(zip(queries, documents, strict=True)), activation_fn=torch.nn.Identity()
        )
    if name == "terms":
        peer = SparseEncoder(str(folder), **how)
        return (peer.encode_query(queries).to_dense() * peer.encode_document(documents).to_dense()).sum(dim=1).numpy()
    late = MultiVectorEncoder(str(folder), **how)
    return late.similarity_pairwise(late.encode_query(queries), late.encode_document(documents)).numpy()


@pytest.mark.parametrize("name", [*SYSTEMS, "pairs"])
def test_a_run_has_the_scores_of_the_library(name: str, finished: Workflow) -> None:
    """Vectors of tokens are stored as float16."""
    own = "late" if name == "pairs" else name
    texts = {
        row[key]: row["text"]
        for kind, key in (("queries", "query_id"), ("documents", "doc_id"))
        for row in pq.read_table(finished.folder / f"results/corpora/small/{kind}.parquet").to_pylist()
    }
    rows = pq.read_table(finished.folder / f"results/runs/{name}/small.parquet").to_pylist()
    pairs = ([texts[row[key]] for row in rows] for key in ("query_id", "doc_id"))
    found = np.array([row["score"] for row in rows])
    np.testing.assert_allclose(found, expected(own, finished.folder / "models" / own, *pairs), rtol=1e-3, atol=1e-3)
    assert len(rows) == 3 * (5 if name in ("crossed", "pairs") else 20)


@pytest.mark.parametrize("name", SYSTEMS)
def test_records_say_who_computes(name: str, finished: Workflow) -> None:
    model, run = (read_json(finished.folder / f"results/{path}.json") for path in (f"models/{name}", f"runs/{name}/small"))
    assert model["encoder"] == "sentence-transformers"
    assert run["made"]["sentence_transformers"] == importlib.metadata.version("sentence-transformers")


def test_an_audit_makes_a_sample_again(finished: Workflow) -> None:
    experiment = load_experiment(finished.config)
    _, sections = run_checks(finished.folder / "results", experiment, 2, 2)
    assert {check.status for checks in sections.values() for check in checks} <= {"passed", "not checked"}
