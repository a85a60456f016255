"""Systems that are trained for each dataset, through Snakemake: what is planned, what a run leaves, what an audit says of it."""

import csv
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from faults_at_work import result_files
from forger import Forger
from tiny_bert import save_tiny_bert
from tiny_expanders import save_tiny_t5
from without_extension import without_extension
from workflow_runs import Workflow, config_of, dataset_config, small_dataset, tiny_system

SUMMARY = "results/summary.csv"

AUDIT = """
from beirflow.audit.audit import run_checks
from beirflow.config.load import load_experiment
from beirflow.families.dense.settings import DenseSettings
assert not hasattr(DenseSettings("a", "b"), "train")
_, sections = run_checks(pathlib.Path(sys.argv[3]), load_experiment({"device": "cpu"}), 0, 0)
print(json.dumps([[check.name, check.status, check.found] for checks in sections.values() for check in checks]))
"""
DATASETS = ("one", "two")


@pytest.fixture
def trained(tmp_path: Path) -> Workflow:
    """Configure a trained system; nothing has run."""
    for dataset in DATASETS:
        small_dataset(tmp_path / dataset, 24 if dataset == "one" else 30, queries=3)
    train = {"generator": str(save_tiny_t5(tmp_path / "t5")), "queries": 3, "documents": 20, "query_length": 8, "batch": 8}
    systems: dict[str, Any] = {
        "genq": {"family": "dense", "base": tiny_system(save_tiny_bert(tmp_path / "bert")), "train": train},
        "shorter": {"variant_of": "genq", "dimensions": 8},
    }
    config = config_of(systems, tmp_path, systems=["genq"], top_k=10, cutoffs=[1, 10], chunk_documents=500_000)
    workflow = Workflow(tmp_path / "work", config)
    workflow.config |= dataset_config(workflow, **{dataset: {"path": str(tmp_path / dataset)} for dataset in DATASETS})
    workflow.folder.mkdir()
    return workflow


def test_an_encoder_is_trained_for_each_dataset(trained: Workflow) -> None:
    trained.config["systems"].append("shorter")
    once = dict.fromkeys(("fetch_model", "fetch_expansion_model", "summarize"), 1)
    twice = dict.fromkeys(("prepare_corpus", "write_queries", "train_encoder", "encode_queries", "encode_chunk"), 2)
    of_both = dict.fromkeys(("search_chunk", "merge_chunks", "evaluate_run"), 4)
    assert trained.planned(SUMMARY) == {**once, **twice, **of_both}


@pytest.mark.long
def test_a_whole_run(trained: Workflow) -> None:
    trained.config["systems"].append("shorter")
    trained.run(SUMMARY, "results/report.html")
    for dataset in DATASETS:
        record = trained.read(f"models/genq/{dataset}.json")
        run = trained.read(f"runs/genq/{dataset}.json")
        assert run["seconds"]["train"] == record["seconds"]["train"] > 0
        assert run["counts"]["training_steps"] == record["counts"]["training_steps"]
        assert f"models/genq/{dataset}.json" in run["inputs"]
        assert run["made"]["training_precision"] == "float32"
        assert record["job"] in run["jobs"]
    assert not list(trained.result("models").rglob("*.pt"))
    described = list(csv.DictReader(trained.result("systems.csv").open()))
    rows = [(row["setting"], row["dataset"]) for row in described if row["system"] == "genq"]
    for name in ("model_sha256", "training_loss"):
        assert [dataset for setting, dataset in rows if setting == name] == list(DATASETS)
    assert Forger(trained.result(""), load_experiment(trained.config)).noticed() == []
    looked_at = without_extension("genq", trained.folder / "extensions", AUDIT, str(trained.result("")))
    assert [check for check in looked_at if check[1] == "failed"] == []
    said = " ".join(found for _, status, found in looked_at if status == "not checked")
    assert "the configuration of genq, which is dense with train, of an extension that is not installed" in said
    assert "custom.systems.genq.train: found 'train': perhaps a key of an extension that is not installed" in said
    trained.config["custom"]["systems"]["genq"]["train"]["learning_rate"] = 1e-3
    assert trained.planned("results/metrics/genq/one.json") == dict.fromkeys(
        ("train_encoder", "encode_queries", "encode_chunk", "search_chunk", "merge_chunks", "evaluate_run"), 1
    )


@pytest.mark.long
def test_the_printed_command_and_the_next_run_give_a_damaged_model_back(trained: Workflow) -> None:
    """A file in a folder of outputs starts no job, so the first job that loads the model refuses it."""
    trained.config["datasets"] = ["one"]
    trained.run(SUMMARY)
    before, weights = result_files(trained.result("")).keys(), trained.result("models/genq/one/model.safetensors")
    ranked, whole = (
        trained.result(f"{name}").read_bytes() for name in ("runs/genq/one.parquet", "models/genq/one/model.safetensors")
    )
    weights.write_bytes(whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:])
    for name in ("embeddings/genq/one/queries.npy", "runs/genq/one.parquet", "metrics/genq/one.json", "summary.csv"):
        trained.result(name).unlink()
    said = trained.run(SUMMARY, ok=False)
    command = re.findall(r"another model\.safetensors than recorded here; .* run again: (rm .*)", said)[0]
    subprocess.run(shlex.split(command), cwd=trained.folder, check=True)
    trained.run(SUMMARY)
    assert (trained.result("runs/genq/one.parquet").read_bytes(), weights.read_bytes()) == (ranked, whole)
    assert result_files(trained.result("")).keys() == before
