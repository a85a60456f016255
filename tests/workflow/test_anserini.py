"""Whole runs of BM25 are those of a real Lucene: every document, in its order, with every score as Anserini prints it.

BEIRFLOW_ARCHIVES names the folder that holds nfcorpus.zip and scifact.zip, and ``anserini.py`` says where the jar comes from.
Without either these tests are skipped, and say so.
"""

import os
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import anserini
import anserini_run
from workflow_runs import Workflow

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (ARCHIVES / "scifact.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives"),
    pytest.mark.skipif(bool(anserini.missing()), reason=anserini.missing() or "Anserini is here"),
]

SYSTEMS = {"bm25": anserini.FLAT, "bm25-multifield": anserini.MULTIFIELD}
DATASETS = ("nfcorpus", "scifact")
TOP_K = 1000


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Both systems on both datasets, several chunks each."""
    folder = tmp_path_factory.mktemp("ours")
    for dataset in DATASETS:
        with zipfile.ZipFile(ARCHIVES / f"{dataset}.zip") as archive:
            archive.extractall(folder / "data")
    config = {
        "systems": list(SYSTEMS),
        "datasets": list(DATASETS),
        "data_dir": str(folder / "data"),
        "chunk_documents": 1500,
        "top_k": TOP_K,
    }
    workflow = Workflow(folder, config)
    workflow.run(*(f"results/runs/{system}/{dataset}.parquet" for system in SYSTEMS for dataset in DATASETS))
    return workflow


def theirs(ours: Workflow, dataset: str, collection: str, folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Anserini's run, for the queries that ours has."""
    (folder / "corpus").mkdir()
    (folder / "corpus/corpus.jsonl").symlink_to(ours.folder / f"data/{dataset}/corpus.jsonl")
    queries = pd.read_parquet(ours.result(f"corpora/{dataset}/queries.parquet"))
    lines = [f"{query_id}\t{text}\n" for query_id, text in zip(queries["query_id"], queries["text"], strict=True)]
    (folder / "topics.tsv").write_text("".join(lines), encoding="utf-8")
    anserini.index(folder / "corpus", folder / "index", collection)
    anserini.search(folder / "index", folder / "topics.tsv", folder / "run.txt", collection, TOP_K)
    return anserini_run.read_run(folder / "run.txt")


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_whole_run_is_lucenes(ours: Workflow, tmp_path: Path, system: str, dataset: str) -> None:
    """Lucene orders documents of one score by their ids, ascending; what the jar prints, ``anserini_run.as_printed`` says."""
    expected = theirs(ours, dataset, SYSTEMS[system], tmp_path)
    run = pd.read_parquet(ours.result(f"runs/{system}/{dataset}.parquet"))
    found = anserini_run.of_ours(run)
    assert found.keys() == expected.keys()
    different = [query_id for query_id in found if found[query_id] != expected[query_id]]
    assert different == []
    assert len(run) == sum(map(len, expected.values())) > 100_000
