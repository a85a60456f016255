"""Compare the one vector with that of sentence-transformers.

python -m bench.fixed_cost.check OURS
"""

import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from bench.child import report
from bench.fixed_cost.inputs import TEXT
from bench.weights import weights_folder

TOLERANCE = 1e-5

if __name__ == "__main__":
    ours = np.load(Path(sys.argv[1], "chunk-0.npy"))
    theirs = SentenceTransformer(weights_folder()).encode([TEXT])
    if ours.shape != theirs.shape or not np.abs(ours - theirs).max() <= TOLERANCE:
        sys.exit("the vector is not that of sentence-transformers")
    report(agree="the vector is that of sentence-transformers within 1e-5")
