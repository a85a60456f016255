"""The rate of the encoder, packed and padded, beside the rate of the device's matrix products and sentence-transformers."""

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from beirflow.models.encoders import encoder as encoder_module
from beirflow.models.encoders.encoder import TransformersEncoder
from bench.gpu.rates import flops_per_token, hours_for_beir, matrix_rate, peak_bytes, seconds_of
from bench.gpu.workload import Figures, NotRunError, Setting, evenly, need

Compute = Callable[[list[str]], int]
"""A function that computes with texts, and returns their tokens."""

WARM_UP, COMPARED = 8192, 1000
"""Texts of the first pass, which is not timed, and of a comparison of vectors."""

TOLERANCE = {"bfloat16": 2.0**-4, "float16": 2.0**-7, "float32": 1e-4}
"""Of the relative error of a vector."""

BATCH_SIZES = (128, 32, 512)
"""Of the peer; the first is that of the beir package."""

SHARE = 4
"""Of the texts of a timed pass of ours, every so many are used with the peer, because it takes longer."""


def matrices(setting: Setting) -> Figures:
    """FLOP/s of matrix products in bfloat16, which ours is measured by, and in float32."""
    rates = {"bfloat16": torch.bfloat16, "float32": torch.float32}
    return {name: matrix_rate(setting.device, dtype, setting.matrix, 50) for name, dtype in rates.items()}


def sized(setting: Setting, compute: Compute, warm_up: int = WARM_UP) -> list[str]:
    """So many of the texts that a pass takes the seconds that were asked for, after a pass that warms up and one to measure."""
    sample = evenly(setting.texts, warm_up)
    compute(sample)
    taken = seconds_of(lambda: compute(sample), setting.device)
    return evenly(setting.texts, max(1, int(len(sample) * setting.seconds / taken)))


def timed(setting: Setting, compute: Compute, warm_up: int = WARM_UP) -> dict[str, Any]:
    """Compute with the same texts some times; rates by the median of the passes."""
    if setting.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    texts, tokens = sized(setting, compute, warm_up), list[int]()
    seconds = [seconds_of(lambda: tokens.append(compute(texts)), setting.device) for _ in range(setting.passes)]
    middle, peak = median(seconds), peak_bytes(setting.device)
    rates = {"documents_per_second": len(texts) / middle, "tokens_per_second": tokens[0] / middle}
    return {"documents": len(texts), "tokens": tokens[0], "seconds": seconds, **rates, "peak_device_bytes": peak}


def tokens_of(encoder: TransformersEncoder) -> Compute:
    """A function that encodes texts and returns their tokens."""

    def encode(texts: list[str]) -> int:
        before = encoder.tokens
        encoder.encode_corpus(texts)
        return encoder.tokens - before

    return encode


def throughput(setting: Setting, rates: dict[str, float]) -> Figures:
    """Our rate; and its share of the FLOP/s of matrix products, by precision; None where they are not known."""
    encoder = setting.encoder()
    figures = timed(setting, tokens_of(encoder))
    rate = rates.get("float32" if setting.precision == "float32" else "bfloat16")
    flops = flops_per_token(setting.shape, lengths(encoder, evenly(setting.texts, WARM_UP)))
    return figures | {
        "packed": encoder.packed,
        "truncated": encoder.truncated,
        "token_budget": encoder.budget.tokens,
        "flops_per_token": flops,
        "share_of_matrix_rate": rate and flops * figures["tokens_per_second"] / rate,
        "hours_for_beir": hours_for_beir(figures["documents_per_second"]),
    }


def lengths(encoder: TransformersEncoder, texts: list[str]) -> np.ndarray:
    """Tokens of each text as the encoder counts them."""
    return np.array([len(ids) for ids in encoder.backbone.token_ids(list(texts))])


def padding(setting: Setting) -> Figures:
    """The same encoder with padding in place of packing, and how far its vectors are from the packed ones."""
    encoder = setting.encoder()
    if not encoder.packed:
        raise NotRunError("nothing is packed on this device in this precision")
    with patch.object(encoder_module, "can_pack", lambda *_: False):
        padded = setting.encoder()
    sample = evenly(setting.texts, COMPARED)
    agreement = agree(encoder.encode_corpus(sample), padded.encode_corpus(sample), setting.precision)
    return timed(setting, tokens_of(padded)) | agreement


def agree(found: np.ndarray, expected: np.ndarray, precision: str) -> Figures:
    """Measure how near vectors, float32 of shape (n, dim), are to those of the same texts by another way in the same precision.

    Raises:
        AssertionError: A vector is further away than the precision explains.
    """
    errors = relative_errors(found, expected)
    if not errors.max() < TOLERANCE[precision]:
        raise AssertionError(f"a vector's relative error is {errors.max():.2g}, more than {TOLERANCE[precision]:.2g}")
    return {"relative_error": {"median": float(np.median(errors)), "max": float(errors.max())}}


def relative_errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Length of the difference of each vector from the one that is expected, over the length of that."""
    return np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)


def compare_with_peer(setting: Setting) -> Figures:
    """Times of both sides on the same texts in the same precision, round by round, and how near their vectors are."""
    need("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(setting.folder), device=setting.device.type)  # with the mean over all tokens
    model.max_seq_length = setting.shape.positions
    model.to(getattr(torch, setting.precision)).eval()

    def encode(texts: list[str], size: int) -> np.ndarray:
        vectors = model.encode(texts, batch_size=size, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)

    ours = setting.encoder()
    texts = sized(setting, tokens_of(ours))
    texts = evenly(texts, max(1, len(texts) // SHARE))
    sample = evenly(texts, COMPARED)
    agreement = agree(ours.encode_corpus(sample), encode(sample, BATCH_SIZES[0]), setting.precision)
    rounds = []
    for _ in range(setting.passes):
        seconds = {"ours": seconds_of(lambda: ours.encode_corpus(texts), setting.device)}
        for size in BATCH_SIZES:
            seconds[str(size)] = seconds_of(partial(encode, texts, size), setting.device)
        rounds.append(seconds)
    ratios = {str(size): median(seconds[str(size)] / seconds["ours"] for seconds in rounds) for size in BATCH_SIZES}
    best = {"ratio": ratios[str(BATCH_SIZES[0])], "ratio_to_its_best": min(ratios.values())}
    return {"documents": len(texts), "rounds": rounds, "ratios": ratios, **best, **agreement}
