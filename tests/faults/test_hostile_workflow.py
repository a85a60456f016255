"""The workflow as it runs: ids as strange as can be keep every byte, and what a failing run says repairs it."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beir_writer import write_beir
from faults_at_work import results
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, config_of, dataset_config, tiny_system, words

IDS = [
    "plain", " ", "  ", "a b", "a/b", "../../etc/passwd", "/", ".", "..", "\\", "-rf", "*", "{dataset}", "<results>", "$HOME",
    "`id`", "'", '"', "é", "e\u0301", "\U0001f98a", "\ufeffbom", "\u200b", "\u202eabc", "\u2028", "NaN", "null", "0", "-1", "1e9",
    "x" * 10_000, "q1", "\x1f", "\x7f",
]  # fmt: skip
UNJUDGED = ["tab\there", "line\nfeed", "return\r", "nul\0"]
"""Ids that a qrels file cannot hold."""


def test_strange_ids_keep_every_byte_and_name_no_file(lexical: Workflow) -> None:
    workflow = lexical
    documents = {doc_id: words(7, 5) for doc_id in [*IDS, *UNJUDGED]}
    queries = dict.fromkeys(IDS, words(7, 4))
    judgements = {query_id: {query_id: 1, IDS[0]: 2, IDS[-1]: 1} for query_id in IDS}
    path = write_beir(workflow.folder / "data", documents, queries, judgements)
    workflow.config |= dataset_config(workflow, small={"path": str(path), "drop_self_matches": True}) | {
        "top_k": 100,
        "cutoffs": [100],
        "chunk_documents": 20,
    }
    workflow.run("results/metrics/tiny/small.json")
    run = pd.read_parquet(workflow.result("runs/tiny/small.parquet"))
    assert list(dict.fromkeys(run["query_id"])) == sorted(IDS, key=str.encode)
    # All texts are equal, so that every query ranks all documents but itself by their ids alone.
    ranking = sorted(documents, key=str.encode, reverse=True)
    for query_id, hits in run.groupby("query_id"):
        assert hits["doc_id"].tolist() == [doc_id for doc_id in ranking if doc_id != query_id]
    per_query = pd.read_parquet(workflow.result("metrics/tiny/small.parquet"))
    assert per_query["query_id"].tolist() == sorted(IDS, key=str.encode)
    relevant = {query_id: set(judged) for query_id, judged in judgements.items()}
    expected = [len(relevant[query_id] - {query_id}) / len(relevant[query_id]) for query_id in per_query["query_id"]]
    assert per_query["Recall@100"].tolist() == pytest.approx(expected)
    names = {part for file in workflow.result("").rglob("*") for part in file.relative_to(workflow.folder).parts}
    assert not [name for name in names if name in IDS or not re.fullmatch(r"[\w.-]+", name)]
    output = workflow.run("results/runs/tiny/small.trec.gz", ok=False)
    assert re.search(r"runs/tiny/small\.parquet: a TREC run cannot hold the id '.*', because of the whitespace in it", output)
    assert not workflow.result("runs/tiny/small.trec.gz").exists()


def damage(path: Path, content: bytes | None = None) -> None:
    """Replace the content, or flip a bit of it; the times stay, as they do when a disk is to blame."""
    status, whole = path.stat(), path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:] if content is None else content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_failed_job_runs_again_although_the_results_of_former_settings_are_there(finished_lexical: Workflow) -> None:
    workflow = finished_lexical
    before = results(workflow.result(""))
    workflow.config["custom"]["systems"]["tiny"]["k1"] = 3.0
    statistics = workflow.result("postings/lucene-english/small/statistics.parquet")
    content = statistics.read_bytes()
    damage(statistics, b"for now")
    assert workflow.run("results/summary.csv", "--keep-going", ok=False).count("damaged or replaced") >= 3
    damage(statistics, content)
    assert set(workflow.planned("results/summary.csv")) >= {"search_index", "merge_chunks", "evaluate_run"}
    workflow.run("results/summary.csv")
    after = results(workflow.result(""))
    assert after["runs/tiny/small.parquet"] != before["runs/tiny/small.parquet"]
    assert after.keys() == before.keys()
    assert workflow.planned("results/summary.csv") == {}


DAMAGED = (
    *("corpora/small/queries.parquet", "corpora/small/qrels.parquet", "models/tiny.json", "embeddings/tiny/small/queries.npy"),
    *("embeddings/tiny/small/chunk-1.npy", "embeddings/tiny/small/chunk-0.json", "runs/tiny/small.parquet"),
    *("postings/lucene-english/small/chunk-2.arrow", "postings/lucene-english/small/chunk-0.json"),
    *("postings/lucene-english/small/statistics.parquet",),
    *("postings/masked/small/weights-0.arrow", "postings/masked/small/queries.arrow", "runs/masked/small.json"),
    *("tokens/tokens/small/chunk-1.arrow", "tokens/tokens/small/queries.json", "metrics/tokens/small.json"),
    *("pairs/crossed/small/block-0.parquet", "runs/words/small.parquet", "metrics/fused/small.parquet"),
)
"""Files of a family each, such that many errors hide others."""


@pytest.fixture(scope="session")
def families_once(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, small: Path) -> Workflow:
    """A whole run with systems of several families; not to be changed."""
    folder = tmp_path_factory.mktemp("families")
    systems = {
        "words": {"family": "lexical"},
        "tiny": tiny_system(tiny_bert),
        "masked": {"family": "sparse", "model": str(save_masked_lm(folder / "masked"))},
        "tokens": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
        "fused": {"family": "fusion", "of": ["words", "masked"], "method": "rrf"},
        "crossed": {"family": "rerank", "first": "words", "depth": 10, "model": str(save_cross_encoder(folder / "crossed"))},
    }
    workflow = Workflow(folder, config_of(systems, small))
    workflow.run("results/summary.csv")
    return workflow


def without_counts(content: dict[str, Any]) -> dict[str, Any]:
    """The same, but for the counts of records: a reranker that finds stored scores counts them as reused."""
    return {
        name: {key: each for key, each in value.items() if key != "counts"} if isinstance(value, dict) else value
        for name, value in content.items()
    }


def test_printed_repairs_bring_every_file_back(families_once: Workflow, tmp_path: Path) -> None:
    families = families_once.copied(tmp_path / "work")
    for name in DAMAGED:
        damage(families.result(name), b"{}" if name.endswith("chunk-0.json") else None)
        families.result(name).touch()
    for _ in range(len(DAMAGED) + 1):
        status, output = families.ended("results/summary.csv", "--keep-going")
        if status == 0:
            break
        repairs = set(re.findall(r"ERROR: .*delete it and run again: (rm \S+)", output))
        assert repairs, output
        subprocess.run(["sh", "-ec", "; ".join(sorted(repairs))], cwd=families.folder, check=True)
    before, after = (without_counts(results(workflow.result(""))) for workflow in (families_once, families))
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []
    assert families.planned("results/summary.csv") == {}
