"""Whole runs of BM25 are those of a real Lucene, byte for byte as Pyserini writes them.

The third corpus has queries that are documents, long ones with scores far above 32, and copies of them, which tie with the
self match.

BEIRFLOW_ARCHIVES names the folder that holds nfcorpus.zip and scifact.zip, and ``anserini.py`` says where the jar comes from.
Without either these tests are skipped, and say so.
"""

import gzip
import json
import os
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import anserini
from workflow_runs import Workflow

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (ARCHIVES / "scifact.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives"),
    pytest.mark.skipif(bool(anserini.missing()), reason=anserini.missing() or "Anserini is here"),
]

SYSTEMS = {"bm25": anserini.FLAT, "bm25-multifield": anserini.MULTIFIELD}
DATASETS = ("nfcorpus", "scifact", "arguments")
TOP_K = 1000


def write_arguments(of: Path, folder: Path) -> None:
    """Write a corpus of some documents, of which each twentieth is a query, and each fortieth has a copy under two ids."""
    documents = [json.loads(line) for line in (of / "corpus.jsonl").read_text(encoding="utf-8").splitlines()][:2500]
    asked = documents[::20]
    copies = [{**each, "_id": f"{before}{each['_id']}"} for each in asked[::2] for before in ("0", "9")]
    (folder / "qrels").mkdir(parents=True)
    for name, entries in (("corpus", documents + copies), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    lines = [f"{each['_id']}\t{documents[number]['_id']}\t1\n" for number, each in enumerate(asked)]
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Both systems on all datasets, several chunks each."""
    folder = tmp_path_factory.mktemp("ours")
    for dataset in DATASETS[:2]:
        with zipfile.ZipFile(ARCHIVES / f"{dataset}.zip") as archive:
            archive.extractall(folder / "data")
    write_arguments(folder / "data/scifact", folder / "data/arguments")
    config = {
        "systems": list(SYSTEMS),
        "datasets": list(DATASETS),
        "custom": {"datasets": {"arguments": {"path": str(folder / "data/arguments")}}},
        "data_dir": str(folder / "data"),
        "chunk_documents": 1500,
        "top_k": TOP_K,
    }
    workflow = Workflow(folder, config)
    workflow.run(*(f"results/runs/{system}/{dataset}.anserini.trec.gz" for system in SYSTEMS for dataset in DATASETS))
    return workflow


def theirs(ours: Workflow, dataset: str, collection: str, folder: Path) -> str:
    """Anserini's run, for the queries that ours has."""
    (folder / "corpus").mkdir()
    (folder / "corpus/corpus.jsonl").symlink_to(ours.folder / f"data/{dataset}/corpus.jsonl")
    queries = pd.read_parquet(ours.result(f"corpora/{dataset}/queries.parquet"))
    pairs = zip(queries["query_id"], queries["text"], strict=True)
    lines = [f"{query_id}\t{' '.join(text.split())}\n" for query_id, text in pairs]
    (folder / "topics.tsv").write_text("".join(lines), encoding="utf-8")
    anserini.index(folder / "corpus", folder / "index", collection)
    anserini.search(folder / "index", folder / "topics.tsv", folder / "run.txt", collection, TOP_K)
    return (folder / "run.txt").read_text(encoding="utf-8")


def by_query(run: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in run.splitlines(keepends=True):
        found.setdefault(line.partition(" ")[0], []).append(line)
    return found


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_whole_run_is_lucenes(ours: Workflow, tmp_path: Path, system: str, dataset: str) -> None:
    """Anserini's own program sorts queries as texts, Pyserini those of digits alone as numbers."""
    expected = by_query(theirs(ours, dataset, SYSTEMS[system], tmp_path))
    found = gzip.decompress(ours.result(f"runs/{system}/{dataset}.anserini.trec.gz").read_bytes()).decode()
    different = [query_id for query_id, lines in by_query(found).items() if lines != expected[query_id]]
    assert different == []
    order = sorted(expected, key=int if all(map(str.isdigit, expected)) else str)
    assert found == "".join(line for query_id in order for line in expected[query_id])
    run = pd.read_parquet(ours.result(f"runs/{system}/{dataset}.parquet"))
    dropped = ours.read(f"runs/{system}/{dataset}.json").get("self_matches", {})
    assert len(dropped) == (len(expected) if dataset == "arguments" else 0)
    assert len(run) - len(dropped) <= sum(map(len, expected.values())) > 100_000
    if dataset == "arguments":
        assert max(dropped.values()) > 128
