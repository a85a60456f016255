"""A real Lucene: Anserini 0.25.0, from the jar in the wheel of pyserini 0.25.0, for Java 11 and newer.

    pip download --no-deps pyserini==0.25.0 && unzip -j pyserini-*.whl '*fatjar.jar'
    export BEIRFLOW_ANSERINI_JAR=$PWD/anserini-0.25.0-fatjar.jar

Nothing else of the wheel is needed; an installed pyserini is found by itself.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "BEIRFLOW_ANSERINI_JAR"

FLAT, MULTIFIELD = "BeirFlatCollection", "BeirMultifieldCollection"
"""Title and text as one field; as two."""

_FIELDS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    FLAT: ([], []),
    MULTIFIELD: (["-fields", "title"], ["-fields", "contents=1.0", "title=1.0"]),
}
"""Options of indexing and of searching."""


def jar() -> Path | None:
    """The jar that the variable names, else that of an installed pyserini; None where there is neither."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    package = importlib.util.find_spec("pyserini")
    folders = package.submodule_search_locations if package else None
    return next((path for folder in folders or () for path in sorted(Path(folder).rglob("anserini-*-fatjar.jar"))), None)


def missing() -> str:
    """Why Anserini cannot be run here; empty if it can."""
    found = jar()
    if found is None:
        return f"no Anserini: {VARIABLE} names no jar, and pyserini is not installed"
    if not found.is_file():
        return f"no Anserini: {VARIABLE} names {found}, which is no file"
    return "" if shutil.which("java") else "no Anserini: there is no java"


def index(corpus: Path, output: Path, collection: str, threads: int = 1) -> None:
    """Index the files of a folder, with what a search needs and no more: scores do not depend on what else is stored.

    Args:
        corpus: Folder that holds corpus.jsonl and nothing else.
        output: Folder of the index.
        collection: :data:`FLAT` or :data:`MULTIFIELD`.
        threads: Threads to index with.
    """
    options = {"collection": collection, "generator": "DefaultLuceneDocumentGenerator", "input": corpus, "index": output}
    _java("io.anserini.index.IndexCollection", {**options, "threads": threads}, _FIELDS[collection][0])


def search(index_folder: Path, topics: Path, output: Path, collection: str, k: int, threads: int = 1, k1: float = 0.9) -> None:
    """Search with BM25, and write a run in TREC's form.

    Args:
        index_folder: What :func:`index` wrote.
        topics: Id, tabulator and text of each query.
        output: The run to write.
        collection: That of the index.
        k: Hits of each query.
        threads: Queries that are searched at once.
        k1: Of BM25; b is 0.4.
    """
    options = {"index": index_folder, "topics": topics, "topicReader": "TsvString", "output": output, "hits": k}
    flags = ["-bm25", "-removeQuery", *_FIELDS[collection][1]]
    _java("io.anserini.search.SearchCollection", {**options, "bm25.k1": k1, "bm25.b": 0.4, "threads": threads}, flags)


def _java(program: str, options: Mapping[str, Any], flags: Sequence[str]) -> None:
    pairs = [str(part) for name, value in options.items() for part in (f"-{name}", value)]
    command = ["java", "-cp", str(jar()), program, *pairs, *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")


def read_run(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Ids and scores, as they are printed, of the hits of each query, by rank.

    Raises:
        ValueError: Ranks do not count from 1.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, rank, score, _ = line.split()
            hits = found.setdefault(query_id, [])
            if len(hits) + 1 != int(rank):
                raise ValueError(f"{path}: hit {len(hits) + 1} of query {query_id} has rank {rank}")
            hits.append((doc_id, score))
    return found


def as_printed(scores: Sequence[float]) -> list[str]:
    """What Anserini prints for the scores of one query, best first.

    It ranks by the float32 score and then by id, ascending. What it prints is rounded to four decimals. A hit whose rounded score
    is within 1e-4 of the number before it gets 1e-6 less for each hit since the last that was further away, so that a program
    that sorts by score, and ties another way, keeps the order (``ScoreTiesAdjusterReranker``).
    """
    rounded = (np.floor(np.asarray(scores, np.float32).astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    printed: list[np.float32] = []
    repeated = 0
    for score in rounded:
        far = not printed or printed[-1] - score > np.float32(1e-4)
        repeated = 0 if far else repeated + 1
        printed.append(score - np.float32(1e-6) * np.float32(repeated))
    return [f"{score:.6f}" for score in printed]
