"""Descriptions of systems are those of configuration, model and records, each with its source."""

import csv
import hashlib
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, write_record
from beirflow.evaluation.systems import describe_systems

CORPORA = ("a", "b")
MEAN = [{"kind": "transformer", "settings": {"max_length": 512}}, {"kind": "pooling", "settings": {"modes": ["mean"]}}]
CLS = [MEAN[0], {"kind": "pooling", "settings": {"modes": ["cls"]}}, {"kind": "normalize", "settings": {}}]
CARD: dict[str, Any] = {"steps": {"queries": MEAN, "documents": MEAN}, "prompts": {"queries": "ask: ", "documents": ""}}
CARD |= {"similarity": "cosine", "dimensions": None, "open": {}}
FILES = {"model.safetensors": "b" * 64, "1_Pooling/config.json": "a" * 64}


class Results:
    """Records of one dense system on two corpora."""

    def __init__(self, folder: Path, **changes: dict[str, Any]) -> None:
        self.folder, self.job, self.runs = folder, Job(folder), []
        self._record("models/s.json", files=FILES, card=CARD)
        for corpus in CORPORA:
            here = f"embeddings/s/{corpus}"
            for kind, stage in (("queries", "queries"), ("chunk-0", "index")):
                prompt = f"{corpus}: " if kind == "queries" else ""
                encoder = {"steps": CLS, "prompt": prompt, "dimensions": None, "max_length": 64, **changes.get(kind, {})}
                encoder |= {"overridden": ["max_length", "pooling", "query_prefix"]}
                self._record(f"{here}/{kind}.json", encoder=encoder, dim=8, seconds={stage: 1.0})
            self.runs.append(self._run(corpus, "models/s.json", f"{here}/queries.json", f"{here}/chunk-0.json"))

    def _record(self, name: str, **facts: Any) -> None:
        write_record(self.folder / name, self.job, inputs={}, outputs={}, **facts)

    def _run(self, corpus: str, *records: str) -> str:
        path = self.folder / f"runs/s/{corpus}.json"
        inputs = {self.folder / name: file_digest(self.folder / name) for name in records}
        made, counts = {"precision": "float32", "torch": "2"}, {"truncated_documents": 7, "tokens": 9}
        write_record(path, self.job, inputs=inputs, outputs={}, system="s", dataset=corpus, made=made, counts=counts)
        return str(path)

    def described(self, **settings: Any) -> dict[tuple[str, str], list[str]]:
        """By setting and dataset: value, who says it, and what the files of the model say."""
        path = str(self.folder / "systems.csv")
        systems = {"s": {"family": "dense", "name": "s", **settings}}
        describe_systems(systems=systems, record_paths=self.runs, systems_path=path, job=self.job)
        return rows(path)["s"]


def rows(path: str | Path) -> dict[str, dict[tuple[str, str], list[str]]]:
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    with Path(path).open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = row["setting"], row["dataset"]
            assert key not in found.setdefault(row["system"], {})
            found[row["system"]][key] = [row[name] for name in ("value", "said_by", "model_says")]
    return found


SETTINGS = {"pooling": "cls", "max_length": 64, "query_prefix": "{instruction}: ", "similarity": None}


def test_values_have_an_origin_and_stand_beside_those_of_the_files(tmp_path: Path) -> None:
    found = Results(tmp_path).described(**SETTINGS)
    assert found["pooling", ""] == ["cls", "configuration", "mean"]
    assert found["max_length", ""] == ["64", "configuration", "512"]
    assert found["similarity", ""] == ["cosine", "model", ""]
    assert found["normalize", ""] == ["yes", "model", ""]
    assert found["document_prefix", ""] == ["", "model", ""]
    assert {("dimensions", ""), ("query_prefix", "")}.isdisjoint(found)
    prompts = [found["query_prefix", corpus] for corpus in CORPORA]
    assert prompts == [[f"{corpus}: ", "configuration", "ask: "] for corpus in CORPORA]
    assert found["precision", ""] == ["float32", "record", ""]
    assert found["dim", ""] == ["8", "record", ""]
    assert [found["truncated_documents", corpus] for corpus in CORPORA] == [["7", "record", ""]] * 2
    assert {"torch", "tokens"}.isdisjoint(name for name, _ in found)
    lines = "".join(f"{FILES[name]}  {name}\n" for name in ("1_Pooling/config.json", "model.safetensors"))
    assert found["model_sha256", ""][0] == hashlib.sha256(lines.encode()).hexdigest()


def test_queries_and_documents_have_a_row_each_where_they_differ(tmp_path: Path) -> None:
    found = Results(tmp_path, queries={"max_length": 32, "steps": MEAN}).described(**SETTINGS)
    assert found["max_length of queries", ""] == ["32", "configuration", "512"]
    assert found["max_length of documents", ""] == ["64", "configuration", "512"]
    assert [found[f"normalize of {kind}", ""][0] for kind in ("queries", "documents")] == ["no", "yes"]


@pytest.mark.parametrize("change", ["deleted", "other"])
def test_of_records_that_are_gone_or_others_now_nothing_is_said(tmp_path: Path, change: str) -> None:
    results = Results(tmp_path)
    for path in tmp_path.glob("embeddings/s/*/*.json"):
        path.unlink() if change == "deleted" else path.write_text("{}")
    found = results.described(**SETTINGS)
    assert found["pooling", ""] == ["cls", "configuration", "mean"]
    assert found["query_prefix", ""] == ["{instruction}: ", "configuration", "ask: "]
    assert found["precision", ""] == ["float32", "record", ""]
    assert not [name for name, _ in found if name == "dim"]


def test_facts_of_a_class_keep_their_names_and_its_model_record_is_no_record_of_vectors(tmp_path: Path) -> None:
    results, encoder = Results(tmp_path), {"encoder": "of_mine:Mine", "arguments": {"dim": 8}}
    results._record("models/s.json", files=FILES, model=None, **encoder)
    results.runs = []
    for corpus in CORPORA:
        path = f"embeddings/s/{corpus}/queries.json"
        results._record(path, encoder=encoder | {"method": "encode"}, seconds={"queries": 1.0}, dim=8)
        results.runs.append(results._run(corpus, "models/s.json", path))
    found = results.described(encoder="of_mine:Mine", arguments={"dim": 8})
    assert found["encoder", ""] == ["of_mine:Mine", "record", ""]
    assert found["arguments", ""] == ["dim 8", "record", ""]
    assert found["method", ""] == ["encode", "record", ""]
    assert ("model_sha256", "") in found


def described(folder: Path, settings: dict[str, Any], **run: Any) -> dict[tuple[str, str], list[str]]:
    """Describe a system without a model."""
    path, systems_path = folder / "runs/s/a.json", str(folder / "systems.csv")
    write_record(path, Job(folder), inputs={}, outputs={}, system="s", dataset="a", **run)
    describe_systems(systems={"s": settings}, record_paths=[str(path)], systems_path=systems_path, job=Job(folder))
    return rows(systems_path)["s"]


def test_weights_that_were_tuned_are_named_with_what_they_were_tuned_on(tmp_path: Path) -> None:
    grid = [{"weights": [share, 1 - share], "score": score} for share, score in ((0.0, 0.2), (0.5, 0.34567), (1.0, 0.3))]
    tuned = {"on": "a.dev", "queries": 9, "queries_left_out": 1, "measure": "NDCG@10", "grid": grid, "chosen": [0.5, 0.5]}
    settings = {"family": "fusion", "name": "s", "of": ("x", "y"), "weights": {"tune": {"split": "dev"}}}
    found = described(tmp_path, settings, tuned=tuned)
    assert found["weights", ""] == ["0.5, 0.5", "record", ""]
    assert found["tuned_on", ""] == ["a.dev: NDCG@10 0.3457 of 9 queries, the best of 3 weights", "record", ""]
    # A family without models has its settings.
    settings = {"family": "lexical", "name": "s", "k1": 0.9, "fields": ("title", "text"), "instructions": {}}
    values = {name: value for (name, _), (value, *_) in described(tmp_path, settings).items()}
    assert values == {"family": "lexical", "k1": "0.9", "fields": "title, text"}


def test_what_is_added_to_documents_is_described_with_its_model(tmp_path: Path) -> None:
    made = Results(tmp_path)
    made._record("expansions/t5-0123456789/model.json", files={"model.safetensors": "c" * 64})
    made.runs = [made._run(corpus, "expansions/t5-0123456789/model.json") for corpus in CORPORA]
    found = made.described(family="lexical", expansion={"model": "m", "revision": None, "queries": 40}, weights=None)
    assert found["expansion", ""][:2] == ["model m, queries 40", "configuration"]
    assert not [setting for setting, _ in found if setting == "weights"]
    assert found["model_sha256", ""][0] == hashlib.sha256(f"{'c' * 64}  model.safetensors\n".encode()).hexdigest()
    # The system that a reranker scores with is named without its model.
    dense = {"name": "mini", "model": "a/b", "pooling": "mean", "query_prefix": "", "dimensions": None, "instructions": {}}
    settings = {"family": "rerank", "model": "a/b", "first": "bm25", "dense": dense}
    assert Results(tmp_path).described(**settings)["dense", ""][0] == "name mini, pooling mean"
