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
    """Give the reason why Anserini cannot be run here; empty if it can."""
    found = jar()
    if found is None:
        return f"no Anserini: {VARIABLE} names no jar, and pyserini is not installed"
    if not found.is_file():
        return f"no Anserini: {VARIABLE} names {found}, which is no file"
    return "" if shutil.which("java") else "no Anserini: there is no java"


def index(corpus: Path, output: Path, collection: str, threads: int = 1) -> None:
    """Index corpus.jsonl of a folder, with what a search needs and no more: scores do not depend on what else is stored."""
    options = {"collection": collection, "generator": "DefaultLuceneDocumentGenerator", "input": corpus, "index": output}
    _java("io.anserini.index.IndexCollection", {**options, "threads": threads}, _FIELDS[collection][0])


def search(index_folder: Path, topics: Path, output: Path, collection: str, k: int, threads: int = 1, k1: float = 0.9) -> None:
    """Search the topics, lines of id and text, with BM25, b 0.4, and write a run in TREC's form."""
    options = {"index": index_folder, "topics": topics, "topicReader": "TsvString", "output": output, "hits": k}
    flags = ["-bm25", "-removeQuery", *_FIELDS[collection][1]]
    _java("io.anserini.search.SearchCollection", {**options, "bm25.k1": k1, "bm25.b": 0.4, "threads": threads}, flags)


def _java(program: str, options: Mapping[str, Any], flags: Sequence[str]) -> None:
    pairs = [str(part) for name, value in options.items() for part in (f"-{name}", value)]
    command = ["java", "-cp", str(jar()), program, *pairs, *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
