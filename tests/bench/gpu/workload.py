"""Texts as long as BEIR's, a BERT with random weights that is as large as contriever's, and the settings of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch

from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from tiny_bert import SPECIAL, save_word_pieces

Figures = dict[str, object]
"""Results of a part, as they are in the JSON file."""

SUFFIXES = 26**2
"""Pieces of two letters that continue a word; words have four letters, so that each text is cut up in one way only."""

CONTINUES = 0.15
"""Share of the tokens that continue a word."""

MEDIAN_TOKENS, SIGMA, LONGEST = 74.7, 0.65, 512
"""Of the log-normal distribution of token counts: its mean is the median times exp(SIGMA² / 2), about 92."""

BLOCK = 8192


@dataclass(frozen=True)
class Shape:
    """Sizes of a BERT; the defaults are those of bert-base, and of contriever."""

    layers: int = 12  # number of layers
    dim: int = 768  # width of the hidden states; a layer's inner width is four times this
    heads: int = 12  # heads of the attention
    vocabulary: int = 30_522  # number of tokens
    positions: int = LONGEST  # tokens of the longest text

    @property
    def pieces(self) -> list[str]:
        """The vocabulary: special tokens, words of four letters, and pieces that continue words, ``##`` before them."""
        suffixes = min(SUFFIXES, self.vocabulary // 4)
        words = product(ascii_lowercase, repeat=4)
        count = self.vocabulary - len(SPECIAL) - suffixes
        pairs = ["##" + "".join(pair) for pair in product(ascii_lowercase, repeat=2)]
        return [*SPECIAL, *("".join(next(words)) for _ in range(count)), *pairs[:suffixes]]


def token_counts(documents: int, longest: int = LONGEST, seed: int = 0) -> np.ndarray:
    """Tokens of each document, special tokens included, longest first, as a chunk is sorted; int64, each at least 3."""
    drawn = np.random.default_rng(seed).lognormal(np.log(MEDIAN_TOKENS), SIGMA, documents)
    return np.sort(np.clip(np.rint(drawn), 3, longest).astype(np.int64))[::-1]


def make_texts(counts: np.ndarray, shape: Shape, seed: int = 1) -> list[str]:
    """Texts of random words, with so many tokens each, special tokens included, of the vocabulary of a model."""
    rng = np.random.default_rng(seed)
    pieces = shape.pieces[len(SPECIAL) :]
    words = sum(not piece.startswith("##") for piece in pieces)
    spaced = np.array([piece[2:] if piece.startswith("##") else f" {piece}" for piece in pieces], dtype=object)
    return [
        text for start in range(0, len(counts), BLOCK) for text in _block(rng, counts[start : start + BLOCK] - 2, spaced, words)
    ]


def _block(rng: np.random.Generator, counts: np.ndarray, spaced: np.ndarray, words: int) -> list[str]:
    """Texts of so many tokens each; a word comes first in each."""
    ends = np.cumsum(counts)
    tokens = rng.integers(0, words, ends[-1])
    continued = rng.random(ends[-1]) < CONTINUES
    continued[ends - counts] = False
    tokens[continued] = rng.integers(words, len(spaced), int(continued.sum()))
    chosen = spaced[tokens].tolist()
    return ["".join(chosen[end - count : end])[1:] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]


def evenly(texts: Sequence[str], count: int) -> list[str]:
    """At most so many of the texts, evenly spaced, so that their lengths are distributed as those of all."""
    rows = np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int)
    return [texts[row] for row in rows]


def save_model(folder: Path, shape: Shape) -> Path:
    """Save a BERT with random weights and a WordPiece tokenizer as transformers saves them."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.dim,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.dim,
        max_position_embeddings=shape.positions,
    )
    BertModel(config).eval().save_pretrained(folder)
    save_word_pieces(folder, shape.pieces, shape.positions)
    return folder


class NotRunError(Exception):
    """A part cannot run here; the message says why."""


def need(*packages: str) -> None:
    """Raise NotRunError where a package is not installed."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise NotRunError(f"{', '.join(missing)} is not installed")


@dataclass(frozen=True)
class Setting:
    """Choices of the command line, the texts and the model."""

    device: torch.device  # where to compute
    precision: str  # ``bfloat16``, ``float16`` or ``float32``
    shape: Shape  # sizes of the model
    folder: Path  # the folder of the model
    texts: list[str]  # longest first
    seconds: float  # seconds of a timed pass, about
    passes: int  # timed passes of each side
    matrix: int  # rows and columns of the matrices whose product is timed
    queries: int  # queries of the search

    @property
    def system(self) -> EncoderSettings:
        """The settings of a system with the model."""
        return EncoderSettings(name="bench", model=str(self.folder), max_length=self.shape.positions, pooling="mean")

    @property
    def on(self) -> dict[str, Any]:
        """Device, precision and size of batches, as the arguments of what loads a model."""
        return {"device": self.device.type, "precision": self.precision, "token_budget": "auto"}

    def encoder(self) -> TransformersEncoder:
        """An encoder as a job would make it."""
        return TransformersEncoder(self.system, self.folder, **self.on)
