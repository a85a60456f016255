"""Draw the next tokens of queries; each document has its own draws, whatever else is in the batch.

A counter-based generator with a key from the seed and the document's id gives one random number per query and position. The drawn
token is where this number falls in the cumulative probabilities of the candidates, in the order of their ids and not of their
probabilities: a rounding error of a logit then shifts a limit slightly, and never swaps neighbours.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch


def draws(seed: int, doc_ids: Sequence[str], queries: int, length: int) -> np.ndarray:
    """Return random numbers that choose the tokens of some documents' queries, uniform from 0, below 1.

    They are float64 of shape (documents, queries, length); with more queries the first have the same numbers.
    """
    numbers = np.empty((len(doc_ids), queries * length))
    for row, doc_id in enumerate(doc_ids):
        key = hashlib.blake2b(f"{seed}\0{doc_id}".encode(), digest_size=16).digest()
        raw = np.random.Philox(key=np.frombuffer(key, "<u8")).random_raw(queries * length)
        # 53 random bits are the fraction of a float64, on every machine.
        numbers[row] = (raw >> np.uint64(11)) * 2.0**-53
    return numbers.reshape(len(doc_ids), queries, length)


def probabilities(logits: torch.Tensor, top_k: int, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the distribution of the next token.

    Args:
        logits: Of the whole vocabulary, of shape (…, terms).
        top_k: Most candidates.
        top_p: They are cut where the probabilities before them reach this sum.

    Returns:
        Ids of the candidates, ascending, int64; and their probabilities up to a factor, float64, 0 beyond the cut; both of shape
        (…, candidates). Where the logits are not numbers, neither are these.
    """
    values, ids = logits.topk(min(top_k, logits.shape[-1]))
    chances = values.double().softmax(dim=-1)
    if top_p < 1:
        chances = chances.masked_fill(chances.cumsum(dim=-1) - chances >= top_p, 0)
    ids, order = ids.sort(dim=-1)
    return ids, chances.gather(-1, order)


def pick(logits: torch.Tensor, numbers: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """Draw tokens from :func:`probabilities` by uniform numbers, float64 of shape (…); returns their ids, int64 of shape (…)."""
    ids, chances = probabilities(logits, top_k, top_p)
    limits = chances.cumsum(dim=-1)
    total = limits[..., -1]
    places = torch.minimum(numbers * total, torch.nextafter(total, torch.zeros_like(total)))
    place = (limits <= places[..., None]).sum(dim=-1)
    return ids.gather(-1, place.clamp(max=ids.shape[-1] - 1)[..., None])[..., 0]


def drawn(seed: int, doc_ids: Sequence[str], documents: int) -> np.ndarray:
    """Draw documents of a corpus; return for each of the n ids whether it is drawn, bool of shape (n,).

    The same ones are drawn in whatever order they are; a larger draw has these and others.
    """
    if documents >= len(doc_ids):
        return np.ones(len(doc_ids), np.bool_)
    keys = (hashlib.blake2b(f"{seed}\0{doc_id}".encode(), digest_size=8, person=b"drawn").digest() for doc_id in doc_ids)
    numbers = np.fromiter((int.from_bytes(key, "little") for key in keys), np.uint64, len(doc_ids))
    return numbers <= np.partition(numbers, documents - 1)[documents - 1]
