"""sentence-transformers on the same texts in the same precision, in turn with ours."""

from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import torch

from bench.gpu.clock import seconds_of
from bench.gpu.encoding import COMPARED, agree, sized
from bench.gpu.setting import Figures, NotRunError, Setting
from bench.gpu.workload import evenly

BATCH_SIZES = (128, 32, 512)
"""The first is that of the beir package."""

SHARE = 4
"""Of the texts of a timed pass of ours, every so many are used here, because the peer takes longer."""


def load(setting: Setting) -> Any:
    """The peer's model with the mean over all tokens, in our precision.

    Raises:
        NotRunError: sentence-transformers is not installed.
    """
    if find_spec("sentence_transformers") is None:
        raise NotRunError("sentence-transformers is not installed")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(setting.folder), device=setting.device.type)
    model.max_seq_length = setting.shape.positions
    return model.to(getattr(torch, setting.precision)).eval()


def encode(model: Any, texts: list[str], batch_size: int) -> np.ndarray:
    """The peer's vectors."""
    return np.asarray(
        model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True), dtype=np.float32
    )


def compare(setting: Setting) -> Figures:
    """Times of both sides, round by round, and how near their vectors are."""
    model, ours = load(setting), setting.encoder()
    texts = sized(setting, ours)
    texts = evenly(texts, max(1, len(texts) // SHARE))
    sample = evenly(texts, COMPARED)
    agreement = agree(ours.encode_corpus(sample), encode(model, sample, BATCH_SIZES[0]), setting.precision)
    rounds = [_round(setting, ours, model, texts) for _ in range(setting.passes)]
    return {"documents": len(texts), "rounds": rounds, **_ratios(rounds), **agreement}


def _round(setting: Setting, ours: Any, model: Any, texts: list[str]) -> dict[str, float]:
    """Seconds of ours and of the peer with each size of a batch."""
    seconds = {"ours": seconds_of(lambda: ours.encode_corpus(texts), setting.device)}
    for size in BATCH_SIZES:
        seconds[str(size)] = seconds_of(partial(encode, model, texts, size), setting.device)
    return seconds


def _ratios(rounds: list[dict[str, float]]) -> Figures:
    """How many times faster ours is, median over the rounds, by the peer's size of a batch."""
    ratios = {str(size): median(run[str(size)] / run["ours"] for run in rounds) for size in BATCH_SIZES}
    return {"ratios": ratios, "ratio": ratios[str(BATCH_SIZES[0])], "ratio_to_its_best": min(ratios.values())}
