"""Models of sparse systems with random weights, in the layouts that hubs have, and the weights that oracles give."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BertForMaskedLM, BertModel, DistilBertConfig, DistilBertModel

from beirflow.families.sparse.files import Rows
from tiny_bert import save_tiny_bert, saved_once

TERMS = 204
"""Of the vocabulary of the tiny BERT."""


@saved_once
def save_masked_lm(folder: Path, seed: int = 0, positions: int = 64) -> Path:
    """A BERT with the head of a masked language model, whose weights are spread so that many terms weigh something."""
    save_tiny_bert(folder, positions=positions)
    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(folder)
    config.architectures = None
    model = BertForMaskedLM(config).eval()
    with torch.no_grad():
        model.cls.predictions.bias.normal_(0, 1)
    model.save_pretrained(folder)
    return folder


@saved_once
def save_unicoil(folder: Path, seed: int = 0, prefix: str = "coil_encoder.") -> Path:
    """A BERT with the layer tok_proj, as castorini/unicoil-… has them."""
    save_tiny_bert(folder, seed)
    torch.manual_seed(seed)
    weights = {f"{prefix}bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    weights |= {f"{prefix}tok_proj.weight": torch.randn(1, 32), f"{prefix}tok_proj.bias": torch.randn(1)}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@saved_once
def save_sparta(folder: Path, seed: int = 0) -> Path:
    """A DistilBERT without a head, as BeIR/sparta-… is."""
    save_tiny_bert(folder)
    torch.manual_seed(seed)
    config = DistilBertConfig(
        vocab_size=TERMS, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=64, initializer_range=0.5
    )
    DistilBertModel(config).eval().save_pretrained(folder)
    return folder


def random_rows(
    seed: int, texts: int, terms: int, weights: Sequence[float], share: float = 0.2, without: Sequence[int] = ()
) -> Rows:
    """Weights for a share of all pairs of a text and a term, many of them equal; some texts have none."""
    random = np.random.default_rng(seed)
    has_term = random.random((texts, terms)) < share
    has_term[[*without]] = False
    text, term = has_term.nonzero()
    return Rows.of(texts, text, term, random.choice(weights, len(text)).astype(np.float32))


def spread(rows: Rows, terms: int = TERMS) -> np.ndarray:
    """Weights of all terms, float32 of shape (texts, terms)."""
    found = np.zeros((len(rows.counts), terms), np.float32)
    found[np.repeat(np.arange(len(rows.counts)), rows.counts), rows.terms] = rows.weights
    return found


def hidden_states(folder: Path, ids: list[int], kind: type = BertModel) -> torch.Tensor:
    """Hidden states of one text, of shape (tokens, dim)."""
    model = kind.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).last_hidden_state[0]


def unicoil_weights(bert: Path, unicoil: Path, ids: list[int], *, add: bool = False) -> np.ndarray:
    """The weights of all terms in a text by Pyserini's formula, float64 of shape (terms,).

    [CLS] does not count; of a repeated token the weights are added, or the largest counts.
    """
    head, expected = load_file(unicoil / "model.safetensors"), np.zeros(TERMS)
    weight, bias = (
        next(value for name, value in head.items() if name.endswith(f"tok_proj.{part}")) for part in ("weight", "bias")
    )
    weights = torch.relu(hidden_states(bert, ids) @ weight[0] + bias)
    for token, found in zip(ids[1:], weights[1:].tolist(), strict=True):
        expected[token] = expected[token] + found if add else max(expected[token], found)
    return expected
