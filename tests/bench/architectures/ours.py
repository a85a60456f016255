"""Our side: the encoder as a job loads it, with ``precision: auto``.

python -m bench.architectures.ours INPUT NAME OUTPUT
"""

import json
import sys
from pathlib import Path

import numpy as np
from beirflow.encoders.load import load_encoder
from beirflow.models.settings import EncoderSettings

from bench.child import timed_call

if __name__ == "__main__":
    source, name, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    texts = json.loads((source / "texts.json").read_text())
    settings = EncoderSettings(name=name, model=str(source / "models" / name / "model"))
    encoder = load_encoder(settings, "documents", device="cpu", precision="auto", token_budget="auto")
    with timed_call():
        vectors = np.concatenate([part for _, part in encoder.windows(texts, "documents")])
    np.save(output / "vectors.npy", vectors)
