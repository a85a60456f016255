"""Compare the directions of vectors in our precision with those of sentence-transformers in float32.

python -m bench.architectures.check FOLDER NAME...
"""

import sys
from pathlib import Path

import numpy as np

from bench.child import report

LEAST_COSINE = 0.99

if __name__ == "__main__":
    lowest = {}
    for name in sys.argv[2:]:
        ours, peer = (np.load(Path(sys.argv[1], name, side, "vectors.npy")) for side in ("ours", "peer"))
        cosines = (ours * peer).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(peer, axis=1)
        lowest[name] = float(cosines.min())
    if min(lowest.values()) < LEAST_COSINE:
        sys.exit(f"least cosine of a text's two vectors: {lowest}")
    report(agree="least cosine of a text's two vectors: " + ", ".join(f"{name} {value:.5f}" for name, value in lowest.items()))
