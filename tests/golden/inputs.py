"""Datasets, models and configurations of the compared results: everything that changes a path through the code."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoTokenizer, BertForMaskedLM, BertForTokenClassification, logging

from tiny_bert import save_tiny_bert
from tiny_colbert import save_with_projection
from tiny_cross_encoder import save_with_head
from tiny_expanders import save_tiny_t5

DEMO = Path(__file__).parents[1] / "data/demo"

OWN_CLASS = """
import numpy as np


class LetterCounts:
    def __init__(self, dim):
        self.dim = dim

    def encode(self, sentences):
        return np.array([np.bincount([ord(c) % self.dim for c in text], minlength=self.dim) for text in sentences], float)
"""

OF_DATASETS = ("dense", "letters", "colbert", "crossed")
"""The systems of the experiment with every form of a dataset."""

COMMON = {"precision": "float32", "device": "cpu", "chunk_documents": 30, "top_k": 40, "cutoffs": [1, 3, 10, 20]}


def write_inputs(folder: Path) -> dict[str, dict[str, Any]]:
    """Write datasets and models below a folder; return the configuration of each experiment by its name."""
    shutil.copytree(DEMO, folder / "demo")
    _write_stated(folder / "stated")
    _write_labelled(folder / "labelled.jsonl")
    _write_samples(folder / "samples.jsonl")
    for name in ("kitchen", "debate"):
        _write_given(folder, name)
    _write_models(folder)
    own = {"systems": _of_systems(folder), "datasets": _of_datasets(folder), "samples": _of_samples(folder)}
    return own | {"others": _of_samples(folder, k1=0.4)}


def _of_systems(folder: Path) -> dict[str, Any]:
    """Every family, and every kind of setting that changes how a system is computed, on one dataset in two chunks."""
    dense = {"model": f"{folder}/bert", "pooling": "mean", "similarity": "cosine", "max_length": 64}
    t5 = {"model": f"{folder}/t5", "queries": 2, "query_length": 8}
    systems: dict[str, dict[str, Any]] = {
        "title-words": {"family": "lexical", "fields": ["title", "text"]},
        "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl"}},
        "written": {"family": "lexical", "expansion": t5},
        "deepct": {"family": "lexical", "weights": {"model": f"{folder}/deepct"}},
        "dense": dense,
        "dot": {**dense, "pooling": "cls", "similarity": "dot", "query_prefix": "query: "},
        "int8": {"variant_of": "dense", "vectors": "int8", "dimensions": 16},
        "binary": {"variant_of": "dense", "vectors": "binary"},
        "letters": {"encoder": "of_mine:LetterCounts", "arguments": {"dim": 16}, "similarity": "cosine"},
        "genq": {
            "family": "dense",
            "base": dense,
            "train": {"generator": t5["model"], "queries": 2, "query_length": 8, "documents": 16, "batch": 4},
        },
        "splade": {"family": "sparse", "model": f"{folder}/splade"},
        "colbert": {"family": "late-interaction", "model": f"{folder}/colbert"},
        "pooled": {"family": "late-interaction", "model": f"{folder}/colbert", "pool_factor": 2},
        "theirs": {"family": "run", "run": f"{folder}/{{dataset}}.trec"},
        "rrf": {"family": "fusion", "of": ["bm25", "dense"]},
        "tuned": {
            "family": "fusion",
            "of": ["bm25", "theirs"],
            "method": "sum",
            "normalize": "min-max",
            "weights": {"tune": {"dataset": "debate", "step": 0.2}},
        },
        "crossed": {"family": "rerank", "first": "colbert", "depth": 10, "model": f"{folder}/cross-encoder"},
        "rescored": {"family": "rerank", "first": "bm25", "depth": 15, "below": "keep", "model": "dense"},
        "graph": {"approximate": "dense", "index": "hnsw", "m": 4, "ef_construction": 20, "ef_search": 30},
    }
    datasets = {name: {"path": f"{folder}/demo/{name}"} for name in ("kitchen", "debate")}
    return {
        **COMMON,
        "systems": ["bm25", *systems],
        "datasets": ["kitchen"],
        "prices": {"hour": 1.5, "gigabyte_month": 0.02},
        "custom": {"systems": systems, "datasets": datasets},
    }


def _of_datasets(folder: Path) -> dict[str, Any]:
    """Every form of a dataset: forums, another split, stated candidates, shared texts, labelled documents, samples."""
    dense = {"model": f"{folder}/bert", "pooling": "mean", "similarity": "dot", "max_length": 64}
    datasets: dict[str, dict[str, Any]] = {
        "kitchen": {"path": f"{folder}/demo/kitchen"},
        "debate": {"path": f"{folder}/demo/debate"},
        "debate-kept": {"path": f"{folder}/demo/debate", "drop_self_matches": False, "shares_texts_with": "debate"},
        "forums": {"path": f"{folder}/demo/forums", "forums": ["garden", "bicycle"]},
        "stated": {"path": f"{folder}/stated", "split": "dev"},
        "labelled": {"path": f"{folder}/labelled.jsonl", "form": "labelled", "labels": {"good": 2, "fair": 1, "bad": 0}},
        "samples": {"path": f"{folder}/samples.jsonl", "form": "samples"},
    }
    systems = {
        "dense": dense,
        "letters": {"encoder": "of_mine:LetterCounts", "arguments": {"dim": 16}, "similarity": "cosine"},
        "colbert": {"family": "late-interaction", "model": f"{folder}/colbert"},
        "crossed": {"family": "rerank", "first": "dense", "depth": 40, "model": f"{folder}/cross-encoder"},
    }
    custom = {"systems": systems, "datasets": datasets}
    return {**COMMON, "systems": list(systems), "datasets": list(datasets), "custom": custom}


def _of_samples(folder: Path, k1: float = 1.5) -> dict[str, Any]:
    """Samples of queries and documents, several seeds, and another main measure."""
    datasets = {name: {"path": f"{folder}/demo/{name}", "drop_self_matches": True} for name in ("kitchen", "debate")}
    return {
        **COMMON,
        "systems": ["bm25", "words"],
        "datasets": ["kitchen", "debate.documents-20"],
        "sample_queries": 6,
        "sample_seed": [1, 2],
        "main_measure": "Recall@10",
        "prices": {"hour": 1.5, "gigabyte_month": 0.02},
        "custom": {"systems": {"words": {"family": "lexical", "k1": k1}}, "datasets": datasets},
    }


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _kitchen_queries() -> list[dict[str, Any]]:
    """The queries of the kitchen that have a text."""
    return [query for query in _records(DEMO / "kitchen/queries.jsonl") if query["text"].strip()]


def _write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def _write_stated(folder: Path) -> None:
    """The kitchen with another split, whose queries state candidates and exclusions."""
    shutil.copytree(DEMO / "kitchen", folder)
    judgements = (folder / "qrels/test.tsv").read_text().splitlines()
    judgements = judgements[: len(judgements) // 2 + 1]
    (folder / "qrels/dev.tsv").write_text("\n".join(judgements) + "\n")
    relevant: dict[str, list[str]] = {}
    for line in judgements[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, []).append(document)
    ids = [record["_id"] for record in _records(folder / "corpus.jsonl")]
    queries = _records(folder / "queries.jsonl")
    for number, query in enumerate(queries):
        own = relevant.get(query["_id"], [])
        query["candidate_ids"] = sorted({*ids[number::2], *ids[: 10 + number], *own})
        query["excluded_ids"] = [ids[-1 - number]] if ids[-1 - number] not in own else []
    _write_lines(folder / "queries.jsonl", queries)


def _write_labelled(path: Path) -> None:
    corpus = _records(DEMO / "kitchen/corpus.jsonl")
    queries = _kitchen_queries()
    labels = ("good", "bad", "fair")
    _write_lines(
        path,
        [
            {
                "query": query["text"],
                "data": [
                    {
                        "id": document["_id"],
                        "title": document.get("title", ""),
                        "summary": document["text"],
                        "answer": labels[place % 3],
                    }
                    for place, document in enumerate(corpus[number * 3 : number * 3 + 5])
                ],
            }
            for number, query in enumerate(queries)
        ],
    )


def _write_samples(path: Path) -> None:
    texts = [record["text"] for record in _records(DEMO / "kitchen/corpus.jsonl")]
    queries = _kitchen_queries()
    lines = [
        {"query": query["text"], "positive": [texts[number]], "negative": texts[number + 1 : number + 12]}
        for number, query in enumerate(queries)
    ]
    _write_lines(path, lines)


def _write_given(folder: Path, name: str) -> None:
    """A run of another tool with ties, and queries for documents, as a user would hand them in."""
    documents = [record["_id"] for record in _records(DEMO / name / "corpus.jsonl")]
    queries = [record["_id"] for record in _records(DEMO / name / "queries.jsonl")]
    rows = (
        f"{query} Q0 {document} {place + 1} {(number * 31 + place * 7) % 11 / 2} them\n"
        for number, query in enumerate(queries)
        for place, document in enumerate(documents[:30])
        if document != query
    )
    (folder / f"{name}.trec").write_text("".join(rows))
    _write_lines(folder / f"{name}.jsonl", [{"_id": document, "queries": [f"how to {document}"]} for document in documents])


def _words() -> Iterator[str]:
    """The words of the demo's datasets, in lower case."""
    for path in sorted(DEMO.rglob("*.jsonl")):
        for record in _records(path):
            yield from re.findall(r"\w+", f"{record.get('title', '')} {record['text']}".lower())


def _write_models(folder: Path) -> None:
    """Models with random weights whose tokenizers know the words of the demo."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    words = list(dict.fromkeys(["[MASK]", "[unused0]", "[unused1]", *_words()]))
    bert = save_tiny_bert(folder / "bert", words=words)
    save_tiny_t5(folder / "t5", words=words)
    save_with_projection(bert, folder / "colbert", dim=16)
    (folder / "colbert/artifact.metadata").write_text(json.dumps({"query_maxlen": 12, "doc_maxlen": 60, "dim": 16}))
    tokenizer = AutoTokenizer.from_pretrained(bert)
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    tokenizer.save_pretrained(folder / "colbert")
    save_with_head(bert, folder / "cross-encoder")
    for name, kind, seed in (("splade", BertForMaskedLM, 5), ("deepct", BertForTokenClassification, 7)):
        torch.manual_seed(seed)
        more = {"num_labels": 1} if name == "deepct" else {}
        model = kind.from_pretrained(bert, **more).eval()
        with torch.no_grad():
            (model.cls.predictions.bias if name == "splade" else model.classifier.bias).normal_(0, 1)
        model.save_pretrained(folder / name)
        AutoTokenizer.from_pretrained(bert).save_pretrained(folder / name)
    (folder / "of_mine.py").write_text(OWN_CLASS)


def write_config(path: Path, config: dict[str, Any]) -> Path:
    """Write the configuration of an experiment."""
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path
