"""A model from a hub at its pinned revision; jobs that encode need no network."""

import hashlib
import json
from pathlib import Path

from http_servers import FileServer, hub_files
from workflow_runs import Workflow

REVISION = "0123456789abcdef0123456789abcdef01234567"


def test_a_hub_model_is_fetched_once_at_its_revision_and_encodes_when_the_hub_is_gone(
    workflow: Workflow, tiny_bert: Path
) -> None:
    workflow.config["custom"]["systems"]["tiny"] |= {"model": "somebody/tiny", "revision": REVISION}
    cache = {"HF_HOME": str(workflow.folder / "cache"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    with FileServer(hub_files("somebody/tiny", REVISION, tiny_bert), headers={"X-Repo-Commit": REVISION}) as hub:
        workflow.environment = {**cache, "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        workflow.run("results/models/tiny.json")
        paths = {asked.path for asked in hub.asked}
    assert f"/somebody/tiny/resolve/{REVISION}/model.safetensors" in paths
    assert all(REVISION in path for path in paths)
    record = json.loads(workflow.result("models/tiny.json").read_text())
    weights = hashlib.sha256((tiny_bert / "model.safetensors").read_bytes()).hexdigest()
    assert (record["revision"], record["sha256"]["model.safetensors"]) == (REVISION, weights)
    workflow.run("results/embeddings/tiny/small/queries.npy")
    assert workflow.result("embeddings/tiny/small/queries.npy").is_file()
