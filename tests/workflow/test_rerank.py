"""A reranker through Snakemake: what it needs runs too, what is kept, and what an audit says."""

import csv
from pathlib import Path

import pytest

from tiny_cross_encoder import save_cross_encoder
from workflow_runs import Workflow, config_of

SUMMARY = "results/summary.csv"
CHUNKS = 3
ASSUMED = "crossed: of the two labels of its model, which have no names, the second means relevant"


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory, small: Path) -> tuple[Workflow, dict[str, int]]:
    """A reranker of BM25, which has no row, and a fusion of both; of the model's two labels, neither has a name."""
    model = save_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny", labels=2)
    systems = {
        "crossed": {"family": "rerank", "first": "bm25", "depth": 3, "model": str(model)},
        "fused": {"family": "fusion", "of": ["bm25", "crossed"]},
    }
    workflow = Workflow(tmp_path_factory.mktemp("rerank"), config_of(systems, small, systems=["fused", "crossed"]))
    workflow.run(SUMMARY)
    return workflow, workflow.ran()


def test_the_first_stage_runs_once_for_all_and_a_greater_depth_adds_pairs(
    finished_once: tuple[Workflow, dict[str, int]], tmp_path: Path
) -> None:
    once, ran = finished_once
    assert ran == {
        "prepare_corpus": 1,
        "fetch_model": 1,
        "index_chunk": CHUNKS,
        "sum_statistics": 1,
        "search_index": CHUNKS,
        "merge_chunks": 1,
        "score_pairs": 1,
        "rerank_run": 1,
        "fuse_runs": 1,
        "evaluate_run": 2,
        "summarize": 1,
    }
    assert [row["system"] for row in csv.DictReader(once.result("summary.csv").open())] == ["fused", "crossed"]
    workflow = once.copied(tmp_path / "copy")
    assert workflow.planned(SUMMARY) == {}
    crossed = workflow.config["custom"]["systems"]["crossed"]
    crossed["below"] = "keep"
    again = {"rerank_run": 1, "fuse_runs": 1, "evaluate_run": 2, "summarize": 1}
    assert workflow.planned(SUMMARY) == again
    crossed["depth"] = 5
    assert workflow.planned(SUMMARY) == again | {"score_pairs": 1}
    workflow.config["command"] = {"audit": {"sample": 100}}
    assert f"Assumed (not specified in the model files or the catalogue):\n  - {ASSUMED}\n" in workflow.run(
        SUMMARY, "results/cost.csv"
    )
    assert {row["assumed"] for row in csv.DictReader(workflow.result("summary.csv").open())} == {ASSUMED}
    counts = workflow.read("pairs/crossed/small/block-0.json")["counts"]
    assert (counts["pairs"], counts["pairs_reused"]) == (20, 12)
    costs = {row["system"]: row for row in csv.DictReader(workflow.result("cost.csv").open())}
    assert float(costs["crossed"]["rerank_seconds"]) > 0
    assert float(costs["fused"]["index_seconds"]) == float(costs["crossed"]["index_seconds"]) > 0
    assert "The audit of results passed" in workflow.run("audit", cores=1)
    checks = workflow.read("audit.json")["sections"]["sample"]
    of_crossed = {check["name"]: check["status"] for check in checks if "crossed on small" in check["found"]}
    assert of_crossed == {
        "recomputed rankings of a pool match the runs": "passed",
    }
