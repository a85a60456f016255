"""Our side: score the pairs.

python -m bench.score_pairs.ours INPUT OUTPUT PRECISION THREADS
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from beirflow.rerank.scorers.load import load_scorer
from beirflow.rerank.settings import RerankSettings

from bench.child import timed_call


def main(source: Path, output: Path, precision: str, threads: int) -> None:
    """Score; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    pairs = [tuple(pair) for pair in json.loads((source / "pairs.json").read_text())]
    settings = RerankSettings("bench", str(source / "model"), first="none")
    scorer = load_scorer(settings, device="cpu", precision=precision, token_budget="auto")
    with timed_call():
        scores = scorer.scores(pairs)
    np.save(output / "scores.npy", scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
