"""Systems made from the runs of others, through Snakemake: what is shared, what runs again."""

import csv
import gzip
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beirflow.core.digests import file_digest
from workflow_runs import Workflow, config_of

SUMMARY = "results/summary.csv"
CHUNKS = 3


def configured(folder: Path, dataset: Path) -> Workflow:
    """A fusion of a fusion, BM25 in two variants, and a run that is written only later; of these, two have rows."""
    systems = {
        "deeper": {"family": "fusion", "of": ["fused", "theirs"], "method": "sum", "normalize": "min-max", "weights": [0.6, 0.4]},
        "fused": {"family": "fusion", "of": ["bm25", "mine"]},
        "mine": {"family": "lexical", "k1": 1.2, "b": 0.75},
        "theirs": {"run": "given/{dataset}.trec.gz"},
    }
    return Workflow(folder, config_of(systems, dataset, systems=["deeper", "theirs"]))


def write_theirs(folder: Path, *lines: str) -> Path:
    path = folder / "given/small.trec.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return path


LINES = [f"q{q} Q0 d{7 * q + i:03} {i + 1} {9 - i} them" for q in range(4) for i in range(6)]


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory, small: Path) -> tuple[Workflow, dict[str, int]]:
    workflow = configured(tmp_path_factory.mktemp("fusion"), small)
    write_theirs(workflow.folder, *LINES)
    workflow.run(SUMMARY)
    return workflow, workflow.ran()


@pytest.fixture
def changeable(finished_once: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    return finished_once[0].copied(tmp_path / "copy")


def test_what_others_need_runs_once_and_has_no_row(finished_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, ran = finished_once
    assert ran == {
        "prepare_corpus": 1,
        "index_chunk": CHUNKS,
        "sum_statistics": 1,
        "search_index": 2 * CHUNKS,
        "merge_chunks": 2,
        "fuse_runs": 2,
        "import_run": 1,
        "evaluate_run": 2,
        "summarize": 1,
    }
    rows = csv.DictReader(workflow.result("summary.csv").open(encoding="utf-8"))
    assert [row["system"] for row in rows] == ["deeper", "theirs"]
    assert sorted(path.name for path in workflow.result("metrics").iterdir()) == ["deeper", "theirs"]
    assert list(workflow.read("manifest.json")["systems"]) == ["deeper", "theirs", "fused", "bm25", "mine"]
    assert workflow.planned(SUMMARY) == {}
    run = pq.read_table(workflow.result("runs/theirs/small.parquet")).to_pylist()
    assert [f"{row['query_id']} Q0 {row['doc_id']} {row['rank']} {row['score']:.0f} them" for row in run] == LINES


def test_a_run_that_was_exchanged_is_read_again_even_if_it_is_older(changeable: Workflow) -> None:
    path = write_theirs(changeable.folder, *LINES[::2])
    os.utime(path, (1, 1))
    again = {"import_run": 1, "fuse_runs": 1, "evaluate_run": 2, "summarize": 1}
    assert changeable.planned(SUMMARY) == again
    changeable.run(SUMMARY)
    assert changeable.read("runs/theirs/small.json")["source_sha256"] == file_digest(path)
    assert changeable.planned(SUMMARY) == {}


def test_a_weight_fuses_again_and_a_parameter_of_a_first_stage_searches_again(changeable: Workflow) -> None:
    systems = changeable.config["custom"]["systems"]
    systems["deeper"]["weights"] = [0.5, 0.5]
    assert changeable.planned(SUMMARY) == {"fuse_runs": 1, "evaluate_run": 1, "summarize": 1}
    systems["mine"]["k1"] = 0.3
    again = {"search_index": CHUNKS, "merge_chunks": 1, "fuse_runs": 2, "evaluate_run": 1, "summarize": 1}
    assert changeable.planned(SUMMARY) == again


def test_weights_that_are_tuned_need_the_runs_of_their_first_stages_elsewhere_too(changeable: Workflow) -> None:
    custom = changeable.config["custom"]
    custom["datasets"]["again"] = custom["datasets"]["small"]
    custom["systems"]["fused"] |= {"method": "sum", "weights": {"tune": {"dataset": "again"}}}
    elsewhere = {"prepare_corpus": 1, "index_chunk": CHUNKS, "sum_statistics": 1, "search_index": 2 * CHUNKS, "merge_chunks": 2}
    assert changeable.planned(SUMMARY) == elsewhere | {"fuse_runs": 2, "evaluate_run": 1, "summarize": 1}
