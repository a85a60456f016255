"""One experiment with every family and every kind of encoder, and every derived file of it."""

import base64
import csv
import json
import zipfile
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.records import read_json
from http_servers import Server, posted, send
from onnx_twin import GRAPH, export
from results_of_families import write_vectors
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_expanders import save_deepct, save_tiny_t5
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, config_of, small_dataset, tiny_system, words

DOCUMENTS = 24
EXCLUDED = ["d000", "d004", "d008", "d020", "nowhere"]
"""Documents that q0 excludes, one of which the corpus does not have."""

SECRETS = {
    "SERVER_USER": "secret-u53r",
    "SERVER_PASSWORD": "pa55%2Fword",
    "SERVER_TOKEN": "secret-t0ken",
    "SERVER_KEY": "sk-s3cret",
}
"""Each is too long to occur by chance in a digest or in a packed file."""
OF_MIRRORS = ("mirror-u53r", "pa55@mirror-w0rd", "mirror-t0ken")
CLASS = """
import numpy as np


class Mine:
    def __init__(self, dim):
        self.dim = dim

    def encode(self, sentences):
        return np.array([np.bincount([sum(word.encode()) % self.dim for word in text.split()], minlength=self.dim)
                         for text in sentences])
"""


class EmbeddingService(Server):
    """An embedding server that repeats what it knows of who asks: to refuse, if it is asked for the wrong model."""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = posted(request)
        rows = [{"index": i, "embedding": [len(text), text.count("w"), 1.5]} for i, text in enumerate(body["input"])]
        wrong = body["model"] != "right"
        answer = {"error": f"{request.path} {request.headers}"} if wrong else {"data": rows}
        send(request, json.dumps(answer).encode(), 401 if wrong else 200)


@pytest.fixture
def server() -> Iterator[str]:
    """Its address, with secrets that the environment has."""
    with EmbeddingService() as service:
        host = service.url.removeprefix("http://")
        yield f"http://${{SERVER_USER}}:${{SERVER_PASSWORD}}@{host}/v1?token=${{SERVER_TOKEN}}"


def every_system(folder: Path, server: str) -> dict[str, dict[str, Any]]:
    """Systems of the user's own; their models are written."""
    t5 = {"model": str(save_tiny_t5(folder / "t5")), "queries": 2, "query_length": 8}
    bert = save_tiny_bert(folder / "bert")
    twin = export(save_tiny_bert(folder / "twin"), types=True)
    arguments = {"url": server, "model": "right", "key_variable": "SERVER_KEY"}
    (folder / "small.trec").write_text("".join(f"q{i % 4} Q0 d{i:03} 1 {30 - i} them\n" for i in range(DOCUMENTS)))
    (folder / "small.jsonl").write_text("".join(f'{{"id": "d{i:03}", "queries": ["{words(i, 3)}"]}}\n' for i in range(DOCUMENTS)))
    return {
        "lexical": {"family": "lexical"},
        "doc2query": {"family": "lexical", "expansion": t5},
        "deepct": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "deepct"))}},
        "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl"}},
        "dense": tiny_system(bert),
        "int8": {"variant_of": "dense", "vectors": "int8"},
        "onnx": tiny_system(twin, weights=GRAPH),
        "class": {"encoder": "of_mine:Mine", "arguments": {"dim": 8}, "similarity": "cosine"},
        "server": {"encoder": "beirflow.models.embedding_server:EmbeddingServer", "arguments": arguments, "similarity": "cosine"},
        "genq": {
            "family": "dense",
            "base": tiny_system(bert),
            "train": {"generator": t5["model"], "queries": 2, "query_length": 8, "documents": 12, "batch": 4},
        },
        "sparse": {"family": "sparse", "model": str(save_masked_lm(folder / "splade"))},
        "late": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
        "vectors": {"vectors": str(write_vectors(folder, "small", DOCUMENTS, 4)), "similarity": "cosine"},
        "imported": {"family": "run", "run": f"{folder}/{{dataset}}.trec"},
        "fused": {"family": "fusion", "of": ["lexical", "server"]},
        "reranked": {"family": "rerank", "first": "lexical", "depth": 4, "model": str(save_cross_encoder(folder / "cross"))},
        "scored": {"family": "rerank", "first": "lexical", "depth": 4, "model": "server"},
        "approximate": {"approximate": "dense", "index": "ivf-flat", "nlist": 4, "nprobe": 2},
    }


@pytest.fixture
def everything(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Workflow:
    """All of them on one dataset; nothing has run."""
    for name, value in {**SECRETS, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    user, password, token = OF_MIRRORS
    config = config_of(
        every_system(tmp_path, server),
        small_dataset(tmp_path / "data", DOCUMENTS, stated={"q0": {"excluded_ids": list(EXCLUDED)}}),
        chunk_documents=DOCUMENTS,
        mirrors=[f"http://{user}:{password}@127.0.0.1:1/beir?token={token}#{token}"],
    )
    workflow = Workflow(tmp_path / "work", config)
    workflow.folder.mkdir()
    (workflow.folder / "of_mine.py").write_text(CLASS)
    monkeypatch.chdir(workflow.folder)
    return workflow


def test_every_file_for_reading_is_made_of_every_family_and_no_secret_is_in_any(everything: Workflow) -> None:
    workflow, arguments = everything, everything.config["custom"]["systems"]["server"]["arguments"]
    experiment = load_experiment(workflow.config)
    systems = experiment.chosen_systems
    assert {experiment.systems[name].family for name in systems} == set(FAMILIES)
    arguments["model"] = "wrong"
    said = [workflow.run("results/embeddings/server/small/queries.npy", ok=False)]
    assert 'status 401, \'{"error": "/v1/embeddings?token=… ' in said[0]
    arguments["model"] = "right"
    read: tuple[str, ...] = (
        "systems.csv",
        "cost.csv",
        "significance.csv",
        "scores.parquet",
        "report.html",
        "beir_paper/index.html",
    )
    read += ("ro-crate-metadata.json", "runs/server/small.trec.gz", "open-runs/server/small.trec.gz")
    said.append(workflow.run(*(f"results/{name}" for name in read)))
    check_excluded(workflow, systems)
    check_matches(workflow)
    for record in ("report.json", "beir_paper/index.json"):
        outputs = read_json(workflow.result(record))["outputs"]
        assert all(file_digest(workflow.result(name)) == digest for name, digest in outputs.items())
    for name in ("systems.csv", "cost.csv"):
        assert {row["system"] for row in csv.DictReader(workflow.result(name).open())} == set(systems)
    described = {(row["system"], row["setting"]): row["value"] for row in csv.DictReader(workflow.result("systems.csv").open())}
    assert described["class", "encoder"] == "of_mine:Mine"
    assert "token ${SERVER_TOKEN}" not in described["server", "arguments"]
    assert "url http://${SERVER_USER}:${SERVER_PASSWORD}@127.0.0.1" in described["server", "arguments"]
    report, figure = workflow.folder / "report.zip", "results/figures/cost.svg"
    said.append(workflow.run("--report", str(report), "results/report.html", "results/summary.csv", figure))
    with zipfile.ZipFile(report) as archive:
        assert {"report.html", "summary.csv", "cost.svg", "ndcg_difference.svg"} <= {
            name.rpartition("/")[2] for name in archive.namelist()
        }
    check_no_secret(workflow.folder, "".join(said))


def check_excluded(workflow: Workflow, systems: Sequence[str]) -> None:
    """No system ranks what the query excludes, and those that rank every other document rank all of these."""
    counts = read_json(workflow.result("corpora/small/corpus.json"))["counts"]
    assert (counts["excluded_pairs"], counts["excluded_without_document"]) == (5, 1)
    for system in systems:
        run = pq.read_table(workflow.result(f"runs/{system}/small.parquet"), filters=[("query_id", "==", "q0")])
        found = run["doc_id"].to_pylist()
        assert found, system
        assert set(found).isdisjoint(EXCLUDED), system
        if system in ("dense", "late"):
            assert len(found) == DOCUMENTS - 4


def check_matches(workflow: Workflow) -> None:
    """The report has what matches between each shown query and its hits, of systems that compare tokens."""
    page = workflow.result("report.html").read_text()
    hits = {query["id"]: query["hits"] for query in workflow.read("inspection/small.json")["queries"]}
    for system in ("sparse", "late"):
        assert f'data-matches="{system}/small"' in page
        found = workflow.read(f"matches/{system}/small.json")
        assert {query: list(of) for query, of in found["queries"].items()} == {
            query: [hit["doc_id"] for hit in of[system]] for query, of in hits.items()
        }
        assert any(matches for of in found["queries"].values() for matches in of.values())


def check_no_secret(folder: Path, said: str) -> None:
    """No file but the configuration, and nothing that was printed, has a secret."""
    contents = {"what was printed": said.encode()}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "config-of-test.yaml":
            contents[str(path)] = path.read_bytes()
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                contents |= {f"{path}/{name}": archive.read(name) for name in archive.namelist()}
    assert len(contents) > 100
    encoded = base64.b64encode(f"{SECRETS['SERVER_USER']}:pa55/word".encode()).decode().rstrip("=")
    secrets = [*SECRETS.values(), *OF_MIRRORS, "pa55/word", "cGE1NS93b3JkIg", "mirror-w0rd", encoded]
    assert [(name, secret) for name, content in contents.items() for secret in secrets if secret.encode() in content] == []
