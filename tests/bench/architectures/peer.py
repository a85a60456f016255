"""The peer: ``encode_document`` of sentence-transformers, as it comes.

python -m bench.architectures.peer INPUT NAME OUTPUT
"""

import json
import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from bench.child import timed_call

if __name__ == "__main__":
    source, name, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    texts = json.loads((source / "texts.json").read_text())
    model = SentenceTransformer(str(source / "models" / name / "model"), device="cpu")
    with timed_call():
        vectors = model.encode_document(texts, batch_size=32, show_progress_bar=False)
    np.save(output / "vectors.npy", vectors)
