"""Figures of the beir package with the same weights, and those of Anserini's BM25, on official files.

BEIRFLOW_ARCHIVES names a folder that holds nfcorpus.zip (the official archive) and scifact.zip (its files). Without it these
tests are skipped, and say so.
"""

import csv
import json
import os
import zipfile
from pathlib import Path

import pytest
import yaml
from http_servers import FileServer
from workflow_runs import Workflow

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))

pytestmark = pytest.mark.skipif(not (ARCHIVES / "nfcorpus.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives")

SYSTEM = "all-minilm-l6-v2"
REFERENCE = {"nfcorpus": (0.31594, 0.31151), "scifact": (0.64508, 0.92500)}
"""NDCG@10 and Recall@100 of the beir package 2.2.0 with the same weights in float32."""

BM25 = {
    ("bm25", "nfcorpus"): (0.3218, 0.2457),
    ("bm25-multifield", "nfcorpus"): (0.3254, 0.2500),
    ("bm25", "scifact"): (0.6789, 0.9253),
    ("bm25-multifield", "scifact"): (0.6647, 0.9076),
}
"""NDCG@10 and Recall@100 of Anserini, as Pyserini publishes them."""

CHECKSUMS = {"nfcorpus": (3633, 637_485, 601_950), "scifact": (5183, 838_128, 784_591)}
"""Documents with a term, and terms of title and text together and of the text alone, in Anserini's indexes."""

TABLE = Path(__file__).parents[1] / "data/official.yaml"


def measures(workflow: Workflow, dataset: str, system: str = SYSTEM) -> tuple[float, float]:
    found = json.loads(workflow.result(f"metrics/{system}/{dataset}.json").read_text())
    assert found["official_data"] is True
    return found["measures"]["NDCG@10"], found["measures"]["Recall@100"]


@pytest.mark.long
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


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Both variants of BM25 on both datasets, from folders, after a whole run."""
    folder = tmp_path_factory.mktemp("bm25")
    for name in CHECKSUMS:
        with zipfile.ZipFile(ARCHIVES / f"{name}.zip") as archive:
            archive.extractall(folder / "data")
    config = {
        "systems": ["bm25", "bm25-multifield"],
        "datasets": list(CHECKSUMS),
        "data_dir": str(folder / "data"),
        "chunk_documents": 3000,
    }
    workflow = Workflow(folder, config)
    workflow.run("results/summary.csv", "results/mteb/bm25/model-index.yaml")
    return workflow


@pytest.mark.parametrize(("system", "dataset"), BM25)
def test_bm25_is_anserinis(bm25: Workflow, system: str, dataset: str) -> None:
    assert measures(bm25, dataset, system) == pytest.approx(BM25[system, dataset], abs=0.0002)


@pytest.mark.parametrize("dataset", CHECKSUMS)
def test_terms_and_documents_are_counted_as_anserini_does(bm25: Workflow, dataset: str) -> None:
    counted = json.loads(bm25.result(f"postings/lucene-english/{dataset}/statistics.json").read_text())["statistics"]
    documents, in_contents, in_texts = CHECKSUMS[dataset]
    assert (counted["documents"], counted["without_contents"], counted["without_text"]) == (documents, 0, 0)
    assert counted["fields"]["contents"] == {"documents": documents, "terms": in_contents}
    assert counted["fields"]["text"] == {"documents": documents, "terms": in_texts}


def test_the_summary_and_the_audit_name_the_published_scores_of_bm25(bm25: Workflow) -> None:
    table = csv.DictReader(bm25.result("summary.csv").open(encoding="utf-8"))
    rows = {key: row for row in table if (key := (row["system"], row["dataset"])) in BM25}
    assert rows.keys() == BM25.keys()
    for key, published in BM25.items():
        for measure, value in zip(("NDCG@10", "Recall@100"), published, strict=True):
            assert (float(rows[key][f"published_{measure}"]), rows[key][f"source_{measure}"]) == (value, "pyserini")
            assert abs(float(rows[key][f"difference_{measure}"])) < 0.0002
    bm25.config["audit_sample"] = 20
    assert "The audit of results passed" in bm25.run("audit", cores=1)
    sections = json.loads(bm25.result("audit.json").read_text())["sections"]
    assert [check["status"] for check in sections["sample"]] == ["passed"] * (2 * 2 * 3)
    published = sections["published scores"]
    # Two measures of each, by Pyserini; and NDCG@10 of the variant with two fields, by the paper.
    assert [check["status"] for check in published if check["status"] != "not checked"] == ["passed"] * (8 + 2)
    for system, dataset in BM25:
        assert any(system in check["found"] and dataset in check["found"] for check in published), (system, dataset)


def test_results_are_written_as_mteb_does_under_its_names(bm25: Workflow) -> None:
    for dataset, task in {"nfcorpus": "NFCorpus", "scifact": "SciFact"}.items():
        result = json.loads(bm25.result(f"mteb/bm25/{task}.json").read_text())
        assert result["task_name"] == task
        assert result["scores"]["test"][0]["main_score"] == measures(bm25, dataset, "bm25")[0]
    (index,) = yaml.safe_load(bm25.result("mteb/bm25/model-index.yaml").read_text())["model-index"]
    assert [each["dataset"]["type"] for each in index["results"]] == ["mteb/nfcorpus", "mteb/scifact"]


def test_the_configuration_of_the_table_has_all_systems_of_these_tests() -> None:
    config = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    assert config["systems"] == [SYSTEM, "bm25", "bm25-multifield"]
    assert config["datasets"] == list(REFERENCE) == list(CHECKSUMS)
