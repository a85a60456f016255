"""Take documents of NFCorpus, longest first.

python -m bench.weigh.inputs ARCHIVE FOLDER DOCUMENTS
"""

import json
import sys
import zipfile
from pathlib import Path


def write(archive: Path, folder: Path, documents: int) -> None:
    """Write ``texts.json``."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(archive) as file, file.open("nfcorpus/corpus.jsonl") as lines:
        found = [json.loads(line) for line, _ in zip(lines, range(documents), strict=False)]
    texts = [f"{each['title']} {each['text']}".strip() for each in found]
    (folder / "texts.json").write_text(json.dumps(sorted(texts, key=len, reverse=True)))


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
