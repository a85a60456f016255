"""The beir package's own figures, on official files and real weights.

BEIRFLOW_ARCHIVES names a folder that holds nfcorpus.zip (the official archive) and scifact.zip (its files). Without it these
tests are skipped, and say so.
"""

import json
import os
import zipfile
from pathlib import Path

import pytest
from http_servers import FileServer
from workflow_runs import Workflow

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))

pytestmark = pytest.mark.skipif(not (ARCHIVES / "nfcorpus.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives")

SYSTEM = "all-minilm-l6-v2"
REFERENCE = {"nfcorpus": (0.31594, 0.31151), "scifact": (0.64508, 0.92500)}
"""NDCG@10 and Recall@100 of the beir package 2.2.0 with the same weights in float32."""


def measures(workflow: Workflow, dataset: str) -> tuple[float, float]:
    found = json.loads(workflow.result(f"metrics/{SYSTEM}/{dataset}.json").read_text())
    assert found["official_data"] is True
    return found["measures"]["NDCG@10"], found["measures"]["Recall@100"]


def test_nfcorpus_from_its_official_archive_over_http(tmp_path: Path) -> None:
    with FileServer({"/nfcorpus.zip": (ARCHIVES / "nfcorpus.zip").read_bytes()}) as server:
        config = {"systems": [SYSTEM], "datasets": ["nfcorpus"], "mirrors": [server.url], "precision": "float32", "device": "cpu"}
        workflow = Workflow(tmp_path, config)
        output = workflow.run("results/summary.csv")
        assert [asked.path for asked in server.asked] == ["/nfcorpus.zip"]
    assert measures(workflow, "nfcorpus") == pytest.approx(REFERENCE["nfcorpus"], abs=0.0003)
    assert "0.3159" in output


@pytest.mark.long
def test_scifact_from_a_folder_without_a_download(tmp_path: Path) -> None:
    with zipfile.ZipFile(ARCHIVES / "scifact.zip") as archive:
        archive.extractall(tmp_path / "data")
    config = {
        "systems": [SYSTEM],
        "datasets": ["scifact"],
        "data_dir": str(tmp_path / "data"),
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 3000,
    }
    workflow = Workflow(tmp_path, config)
    workflow.run(f"results/metrics/{SYSTEM}/scifact.json")
    assert measures(workflow, "scifact") == pytest.approx(REFERENCE["scifact"], abs=0.0003)
    assert not workflow.result("data").exists()
