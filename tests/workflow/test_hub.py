"""A model from a hub at its pinned revision, a dataset from a mirror; nothing after these two rules needs a network."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from beir_writer import zip_folder
from http_servers import FileServer, hub_files
from hub_datasets import nano
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
