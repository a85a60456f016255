"""The peer sentence-transformers: CrossEncoder.predict with its own batch size, for logits.

python -m bench.score_pairs.peer_cross_encoder INPUT OUTPUT THREADS
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import CrossEncoder

from bench.child import timed_call


def main(source: Path, output: Path, threads: int) -> None:
    """Score; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    pairs = [tuple(pair) for pair in json.loads((source / "pairs.json").read_text())]
    model = CrossEncoder(str(source / "model"), device="cpu", activation_fn=torch.nn.Identity(), local_files_only=True)
    with timed_call():
        scores = model.predict(pairs, show_progress_bar=False)
    np.save(output / "scores.npy", scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
