"""Little datasets in the layouts that hubs have, and a hub on the loopback that serves them to this process."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from http_servers import FileServer, hub_files

REVISION = "0123456789abcdef0123456789abcdef01234567"
OTHER_REVISION = "f" * 40

DOCUMENTS = {"d1": ("One", "the first"), "d2": ("", "the second"), "17": ("Three", "the third")}
QUERIES = {"q1": "first?", "q2": "third?", "q3": "not judged?"}
QRELS = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "17", 1)]
JUDGED = ["q1", "q2"]

CARD = """---
language: [en]
configs:
- config_name: default
  data_files:
  - split: train
    path: qrels/train.jsonl
  - {split: test, path: "qrels/test*.jsonl"}
- config_name: corpus
  data_files: [{split: corpus, path: corpus.jsonl}]
- config_name: queries
  data_files: [{split: queries, path: queries.jsonl}]
---
# A dataset
"""


def rows(identifier: str = "_id") -> dict[str, list[dict[str, Any]]]:
    """Documents, queries and judgements as MTEB has them."""
    return {
        "corpus": [{identifier: key, "title": title, "text": text} for key, (title, text) in DOCUMENTS.items()],
        "queries": [{identifier: key, "text": text} for key, text in QUERIES.items()],
        "qrels": [{"query-id": query, "corpus-id": doc, "score": score} for query, doc, score in QRELS],
    }


def jsonl(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_parquet(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(lines), path)


def nano(folder: Path) -> Path:
    """Parquet as NanoBEIR has it: no titles, no scores, everything in the split train, and two files of documents."""
    found = rows()
    texts = [{"_id": row["_id"], "text": row["text"]} for row in found["corpus"]]
    for i, part in enumerate((texts[:2], texts[2:])):
        put_parquet(folder / f"corpus/train-0000{i}-of-00002.parquet", part)
    put_parquet(folder / "queries/train-00000-of-00001.parquet", found["queries"])
    judged = [{"query-id": query, "corpus-id": doc} for query, doc, score in QRELS if score]
    put_parquet(folder / "qrels/train-00000-of-00001.parquet", judged)
    return folder


def mteb(folder: Path) -> Path:
    """JSON lines as MTEB has them, with a card that says which file is what; scores are fractions without one."""
    found = rows()
    put(folder / "README.md", CARD.encode())
    for name in ("corpus", "queries"):
        put(folder / f"{name}.jsonl", jsonl(found[name]))
    put(folder / "qrels/test.jsonl", jsonl({**row, "score": float(row["score"])} for row in found["qrels"]))
    put(folder / "qrels/train.jsonl", jsonl([{"query-id": "q3", "corpus-id": "d2", "score": 1}]))
    return folder


def beir(folder: Path) -> tuple[Path, Path]:
    """Gzipped JSON lines as BeIR has them, and its judgements, which are a dataset of their own."""
    found = rows()
    for name in ("corpus", "queries"):
        put(folder / f"data/{name}.jsonl.gz", gzip.compress(jsonl(found[name])))
        (folder / f"data/{name}.jsonl.gz").rename(folder / f"{name}.jsonl.gz")
    (folder / "data").rmdir()
    qrels = folder.with_name(f"{folder.name}-qrels")
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in QRELS)]
    put(qrels / "test.tsv", ("\r\n".join(lines) + "\r\n").encode())
    return folder, qrels


def languages(folder: Path) -> Path:
    """Parquet of a task of MTEB in two languages, with ids under another name."""
    for language in ("de", "fr"):
        for name, lines in rows("id").items():
            put_parquet(folder / f"{language}-{name}/test-00000-of-00001.parquet", lines)
    return folder


class Hub(FileServer):
    """A hub of datasets, folders by id, to which ``monkeypatch`` points the library of the hub for this process."""

    def __init__(self, datasets: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        served: dict[str, bytes] = {}
        for name, folder in datasets.items():
            served |= hub_files(name, REVISION, folder, "datasets")
        super().__init__(served, headers={"X-Repo-Commit": REVISION})
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        use_cache(monkeypatch, cache)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", self.url)
        template = self.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def use_cache(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Keep what is fetched somewhere else."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
