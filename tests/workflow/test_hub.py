"""A model from a hub at its pinned revision, a dataset from a mirror; nothing after these two rules needs a network."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
import yaml

from beir_writer import zip_folder
from beirflow.data.catalogue.catalogue import load_catalogue
from http_servers import FileServer, hub_files
from hub_datasets import nano, put_parquet
from workflow_runs import Workflow

REVISION = "0123456789abcdef0123456789abcdef01234567"
OFFLINE = ("unshare", "--user", "--map-root-user", "--net")
"""Starts a program without any network, not even the loopback."""


@pytest.fixture
def offline() -> Sequence[str]:
    """Give the command that starts Snakemake without a network; nothing where the kernel does not allow that."""
    try:
        subprocess.run([*OFFLINE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return OFFLINE


def add_to_catalogue(repository: Path, name: str, archive: bytes) -> None:
    """An official dataset more, of 30 documents and 4 queries."""
    path = repository / "workflow/catalogue/datasets.yaml"
    catalogue = yaml.safe_load(path.read_text())
    facts = {**catalogue["datasets"]["fiqa"], "documents": 30, "queries": 4}
    catalogue["datasets"][name] = facts | {"archive": {"md5": hashlib.md5(archive).hexdigest(), "bytes": len(archive)}}  # noqa: S324
    path.write_text(yaml.safe_dump(catalogue, sort_keys=False))


def test_only_the_local_rules_need_a_network(
    workflow: Workflow, own_copy: Path, tiny_bert: Path, small: Path, offline: Sequence[str], tmp_path: Path
) -> None:
    archive = zip_folder(small, workflow.folder / "official.zip").read_bytes()
    add_to_catalogue(own_copy, "official", archive)
    workflow.repository = own_copy
    workflow.config["custom"]["systems"]["tiny"] |= {"model": "somebody/tiny", "revision": REVISION}
    workflow.config |= {"datasets": ["official"], "chunk_documents": 100}
    cache = {"HF_HOME": str(workflow.folder / "cache"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    workflow.config["custom"]["datasets"]["nano"] = {"hub": "z/Nano", "revision": REVISION, "split": "train"}
    served = hub_files("somebody/tiny", REVISION, tiny_bert) | hub_files("z/Nano", REVISION, nano(tmp_path / "nano"), "datasets")
    hub = FileServer(served, headers={"X-Repo-Commit": REVISION})
    mirror = FileServer({"/official.zip": archive})
    with hub, mirror:
        workflow.config["mirrors"] = [mirror.url]
        workflow.environment = {**cache, "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        workflow.run("results/models/tiny.json", "results/data/official.zip", "results/data/nano.json")
        asked = len(hub.asked), len(mirror.asked)
        workflow.run("results/embeddings/tiny/official/queries.npy")
        assert (len(hub.asked), len(mirror.asked)) == asked, "the hub is there, and is not asked again"
    workflow.program = (*offline, *workflow.program)
    workflow.run("results/summary.csv", "results/corpora/nano/corpus.json")

    paths = {asked.path for asked in hub.asked}
    assert f"/somebody/tiny/resolve/{REVISION}/model.safetensors" in paths
    assert all(REVISION in path for path in paths)
    assert [asked.path for asked in mirror.asked] == ["/official.zip"]
    record = workflow.read("models/tiny.json")
    weights = hashlib.sha256((tiny_bert / "model.safetensors").read_bytes()).hexdigest()
    assert (record["revision"], record["files"]["model.safetensors"]) == (REVISION, weights)
    assert workflow.result("summary.csv").is_file()
    corpus = workflow.read("corpora/nano/corpus.json")
    assert (corpus["counts"]["documents"], list(corpus["inputs"])) == (3, ["data/nano.json"])


def test_a_set_whose_commit_is_not_known_is_fetched_at_the_newest_which_results_and_audit_name(
    workflow: Workflow, tmp_path: Path
) -> None:
    facts = load_catalogue().known_datasets["hakari.NanoIndicQA.pa"][0]
    content = {
        "corpus": [{"_id": f"d{number}", "text": f"word{number} text"} for number in range(facts.documents or 0)],
        "queries": [{"_id": f"q{number}", "text": f"word{number}"} for number in range(facts.queries or 0)],
        "qrels": [{"query-id": f"q{number}", "corpus-id": f"d{number}"} for number in range(facts.relevant_pairs or 0)],
        "bm25": [{"query-id": "q0", "corpus-ids": ["d9"]}],
    }
    for config, lines in content.items():
        put_parquet(tmp_path / f"set/{config}/pa-00000-of-00001.parquet", lines)
    hub = FileServer(
        hub_files("hakari-bench/NanoIndicQA", REVISION, tmp_path / "set", "datasets"), headers={"X-Repo-Commit": REVISION}
    )
    workflow.config |= {"systems": ["plain"], "datasets": ["hakari.NanoIndicQA.pa"]}
    workflow.config["custom"] = {"systems": {"plain": {"base": "bm25", "analyzer": "lucene-yoruba"}}}
    with hub:
        cache = {"HF_HOME": str(workflow.folder / "cache"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
        workflow.environment = {**cache, "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        said = workflow.run("results/summary.csv")
    assumed = f"hakari-bench/NanoIndicQA at {REVISION}, its newest commit when it was fetched"
    assert assumed in said
    row = pd.read_csv(workflow.result("summary.csv")).iloc[0]
    assert (row["assumed"], row["NDCG@10"]) == (assumed, 1)
    assert workflow.read("data/hakari.NanoIndicQA.pa.json")["revision"] == REVISION
    workflow.run("audit")
    workflow.result("data/hakari.NanoIndicQA.pa.json").unlink()
    code, message = workflow.ended("audit")
    assert code
    assert "hakari.NanoIndicQA.pa" in message
