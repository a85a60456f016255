"""Systems that sentence-transformers itself computes, from a hub, through Snakemake: runs, records, latency, an audit."""

import importlib.metadata
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.sentence_transformer.modules import Pooling

from beirflow.audit.audit import run_checks
from beirflow.config.load import load_experiment
from beirflow.config.systems import make_system
from beirflow.core.errors import ModelError
from beirflow.core.records import read_json
from beirflow.models.model_files import card_in_files
from forks import forget, run_in_fork
from http_servers import FileServer, hub_files
from tiny_colbert import save_pylate
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, config_of, small_dataset
from zoo import KINDS

REVISION = "3d" * 20
INSTRUCTOR = "hkunlp/instructor-base"  # whose prompts the library leaves out of the pooling because of this name alone
INSTRUCTION = "w1 w2 w3 "

SYSTEMS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "crossed": (save_cross_encoder, "some/crossed", {"family": "rerank", "first": "terms", "depth": 5}),
    "terms": (save_masked_lm, "some/terms", {"family": "sparse"}),
    "late": (save_pylate, "some/late", {"family": "late-interaction"}),
    "instructor": (KINDS["cls and mean"], INSTRUCTOR, {"query_prefix": INSTRUCTION, "similarity": "dot"}),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    folder = tmp_path_factory.mktemp("work")
    files: dict[str, bytes] = {}
    systems: dict[str, Any] = {"pairs": {"family": "rerank", "first": "terms", "model": "late", "depth": 5}}
    for name, (save, model, entry) in SYSTEMS.items():
        files |= hub_files(model, REVISION, save(folder / "models" / name))
        systems[name] = entry | {"encoder": "sentence-transformers", "model": model, "revision": REVISION}
    workflow = Workflow(folder, config_of(systems, small_dataset(folder / "small", 24, queries=3)))
    with FileServer(files, headers={"X-Repo-Commit": REVISION}) as hub:
        hosts = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        workflow.environment = hosts | {"HF_HOME": str(folder / "cache"), "HF_HUB_DISABLE_XET": "1"}
        workflow.run(*(f"results/models/{name}.json" for name in SYSTEMS))
    workflow.run("results/summary.csv", *(f"results/latency/{name}/small.json" for name in SYSTEMS))
    return workflow


def expected(name: str, folder: Path, queries: list[str], documents: list[str]) -> np.ndarray:
    """The scores of pairs of texts by the library, which finds the model by its name in the cache of the hub."""
    how: dict[str, Any] = {"device": "cpu", "local_files_only": True, "revision": REVISION, "cache_folder": str(folder)}
    model = SYSTEMS[name][1]
    if name == "crossed":
        return CrossEncoder(model, **how).predict(list(zip(queries, documents, strict=True)), activation_fn=torch.nn.Identity())
    if name == "instructor":
        encoder = SentenceTransformer(model, **how)
        assert not next(each for each in encoder if isinstance(each, Pooling)).include_prompt
        vectors = encoder.encode_query(queries, prompt=INSTRUCTION), encoder.encode_document(documents)
        return np.einsum("qd,qd->q", *vectors)
    if name == "terms":
        peer = SparseEncoder(model, **how)
        return (peer.encode_query(queries).to_dense() * peer.encode_document(documents).to_dense()).sum(dim=1).numpy()
    late = MultiVectorEncoder(model, **how)
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
    np.testing.assert_allclose(found, expected(own, finished.folder / "cache" / "hub", *pairs), rtol=1e-3, atol=1e-3)
    assert len(rows) == 3 * (5 if name in ("crossed", "pairs") else 20)


@pytest.mark.parametrize("name", SYSTEMS)
def test_records_say_who_computes(name: str, finished: Workflow) -> None:
    model, run = (read_json(finished.folder / f"results/{path}.json") for path in (f"models/{name}", f"runs/{name}/small"))
    assert (model["encoder"], model["model"], model["revision"]) == ("sentence-transformers", SYSTEMS[name][1], REVISION)
    assert run["made"]["sentence_transformers"] == importlib.metadata.version("sentence-transformers")


def test_an_audit_makes_a_sample_again(finished: Workflow) -> None:
    experiment = load_experiment(finished.config)
    _, sections = run_checks(finished.folder / "results", experiment, 2, 2)
    assert {check.status for checks in sections.values() for check in checks} <= {"passed", "not checked"}


def test_a_refused_model_of_a_hub_is_computed_with_the_key_that_the_refusal_names(finished: Workflow) -> None:
    own = finished.config["custom"]["systems"]["instructor"]
    entry = {key: value for key, value in own.items() if key not in ("encoder", "similarity")}

    def refuse() -> None:
        """Print the refusal of the fetched model."""
        os.environ["HF_HOME"] = str(finished.folder / "cache")
        forget("huggingface_hub")
        settings = make_system("mine", entry).settings
        try:
            card_in_files(settings)
        except ModelError as error:
            print(error)  # noqa: T201

    said = run_in_fork(refuse).stdout
    assert "leaves the tokens of the prompt out of its pooling, which is not done here. Or add `" in said
    assert entry | yaml.safe_load(f"{{{said.split('`')[1]}}}") == own | {"similarity": "cosine"}
