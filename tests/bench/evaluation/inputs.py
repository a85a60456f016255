"""Unpack NFCorpus, or a cut of it, and write the configurations of our side.

    python -m bench.evaluation.inputs ARCHIVE FOLDER [DOCUMENTS]

The cut holds so many documents that are judged for the first queries, and the judgements of these documents.
"""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import yaml

SYSTEM = "all-minilm-l6-v2"


def cut(whole: Path, part: Path, documents: int) -> None:
    """Write a dataset of some of the documents."""
    header, *rows = (whole / "qrels/test.tsv").read_text().splitlines()
    kept = set(list(dict.fromkeys(row.split("\t")[1] for row in rows))[:documents])
    (part / "qrels").mkdir(parents=True)
    judgements = [row for row in rows if row.split("\t")[1] in kept]
    (part / "qrels/test.tsv").write_text("\n".join([header, *judgements]) + "\n")
    (part / "queries.jsonl").write_bytes((whole / "queries.jsonl").read_bytes())
    with (whole / "corpus.jsonl").open() as lines, (part / "corpus.jsonl").open("w") as written:
        written.writelines(line for line in lines if json.loads(line)["_id"] in kept)


def write(archive: str, folder: Path, documents: int | None) -> None:
    """Write the data, and a configuration a precision."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder / "data")
    config: dict[str, Any] = {"systems": [SYSTEM], "datasets": ["nfcorpus"], "data_dir": str(folder / "data")}
    if documents:
        part = folder / "data/nfcorpus-cut"
        cut(folder / "data/nfcorpus", part, documents)
        config |= {"datasets": ["nfcorpus-cut"], "custom": {"datasets": {"nfcorpus-cut": {"path": str(part)}}}}
    for precision in ("float32", "auto"):
        (folder / f"{precision}.yaml").write_text(yaml.safe_dump({**config, "precision": precision}))


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
