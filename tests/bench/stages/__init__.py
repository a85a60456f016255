"""A file a stage: its input, our side, the peers, and the check that compares what they wrote.

``bench.child``, and ``bench.job`` for ours, call the functions that the stage's definition names. A file imports at its
top what all sides import anyway; the rest is imported by each side, so that memory and start-up time count where they belong.
"""

import importlib.util
import json
import sys
import zipfile
from pathlib import Path


def package_folder(package: str) -> str:
    """Folder ``model`` of a Python package that ships weights, for the peers; ours finds it by itself."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"the package {package} is not installed here")
    return str(Path(spec.submodule_search_locations[0], "model"))


def nfcorpus_texts(archive: Path, name: str, count: int) -> list[str]:
    """The first documents or queries of NFCorpus, by the name of their file."""
    with zipfile.ZipFile(archive) as file, file.open(f"nfcorpus/{name}.jsonl") as lines:
        records = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
    return [f"{record.get('title', '')} {record['text']}".strip() for record in records]
