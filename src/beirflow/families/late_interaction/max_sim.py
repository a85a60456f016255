"""The sum of each query token's best match among the tokens of a text: fast for all texts, exact for some.

Vectors are float16 of length 1. Products of two such numbers are multiples of 2 ** -48, and so are their sums, which are below 2:
double holds them exactly, in whatever order they are added. So the exact similarity of two tokens depends on nothing else; and a
score, which adds up the largest of each query token one after another and is rounded to float32, on the query and the text alone.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from beirflow.families.late_interaction.vectors import LONGEST, TokenVectors
from beirflow.models.computing.arrival import send
from beirflow.ranking.shortlist import places_of
from beirflow.run.devices import fast_type, multiply

UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-21}
"""Error of an addition in a product of vectors of a type, relative to the sum of the absolute values of what is added.

Float32 rounds to nearest. Float16 is added by tensor cores: at least four products and the sum so far at once, each of which is
cut, not rounded, at 2 ** -23 of the largest or below, and so is the result (Fasi et al. 2021, Numerical behavior of NVIDIA tensor
cores). With m at once these are (m + 2) / m additions' errors of 2 ** -23 a product, and 1.5 at most. Twice 2 ** -22 is taken,
for tensor cores to come.
"""


class Sizes(NamedTuple):
    """Sizes of the blocks of the computation."""

    query_tokens: int  # of a block of queries
    text_tokens: int  # of a block of texts
    step: int  # texts of a block have one length, rounded up to a multiple of this
    similarities: int  # between the tokens of pairs that are scored exactly
    exact_tokens: int  # query tokens of such pairs, each of which takes some 32 bytes a dimension

    def halved(self, times: int) -> "Sizes":
        """Return the sizes for less memory."""
        queries, texts, similarities, tokens = (max(1, size >> times) for size in (*self[:2], *self[3:]))
        return Sizes(queries, texts, self.step, similarities, tokens)


SIZES = {"cpu": Sizes(512, 1024, 8, 1 << 20, 1 << 17), "cuda": Sizes(1 << 13, 1 << 15, 16, 1 << 27, 1 << 18)}
"""Sizes that fit the caches of a CPU, and keep a GPU busy: there a block of similarities takes 1 GiB."""


class Queries(NamedTuple):
    """The vectors of n queries, padded with zeros, which add nothing to a score."""

    vectors: torch.Tensor  # float32 of shape (n, longest, dim)
    counts: torch.Tensor  # tokens of each query, int64 of shape (n,)

    @classmethod
    def of(cls, texts: TokenVectors, device: torch.device) -> "Queries":
        """Move token vectors to a device."""
        longest, dim = int(texts.counts.max(initial=1)), texts.vectors.shape[1]
        vectors = np.zeros((len(texts.counts), longest, dim), np.float32)
        vectors[np.arange(longest) < texts.counts[:, None]] = texts.vectors
        return cls(torch.from_numpy(vectors).to(device), torch.from_numpy(texts.counts).to(device))

    def some(self, which: slice | torch.Tensor) -> "Queries":
        """Return some of the queries, no longer than the longest of them."""
        counts = self.counts[which]
        return Queries(self.vectors[which][:, : int(counts.max())] if len(counts) else self.vectors[which], counts)


class Blocks(NamedTuple):
    """Texts in blocks of about one length; a shorter text has its last vector again, which changes no maximum."""

    order: np.ndarray  # their numbers, block after block, int64 of shape (texts,)
    vectors: list[torch.Tensor]  # of each block, of the type of fast products and shape (n, length, dim), on the device

    @property
    def bounds(self) -> np.ndarray:
        """First text of each block in the order, and the number of texts, int64."""
        return np.cumsum([0, *map(len, self.vectors)])

    @property
    def places(self) -> np.ndarray:
        """Place of each text in the order, int64."""
        places = np.empty(len(self.order), np.int64)
        places[self.order] = np.arange(len(places))
        return places

    @property
    def bytes(self) -> int:
        """Bytes of the vectors."""
        return sum(block.nbytes for block in self.vectors)


def in_blocks(texts: TokenVectors, device: torch.device, halvings: int = 0) -> Blocks:
    """Arrange texts by their length in blocks on a device."""
    sizes, starts = SIZES[device.type].halved(halvings), texts.starts[:-1]
    lengths = -(-texts.counts // sizes.step) * sizes.step
    order = np.argsort(lengths, kind="stable")
    # Those of a file cannot be written to, of which torch warns.
    vectors, blocks, first = send(np.require(texts.vectors, requirements="W"), device), [], 0
    for length, number in zip(*np.unique(lengths, return_counts=True), strict=True):
        at_once = max(1, sizes.text_tokens // int(length))
        for start in range(first, first + number, at_once):
            some = order[start : min(start + at_once, first + number)]
            places = starts[some][:, None] + np.minimum(np.arange(length), texts.counts[some][:, None] - 1)
            blocks.append(vectors[send(places, device)].to(fast_type(device)))
        first += number
    return Blocks(order, blocks)


def fast_scores(queries: Queries, blocks: Blocks) -> torch.Tensor:
    """Score n queries in float32, in the order in which a product of matrices adds: (n, texts), in the order of the blocks."""
    number, longest, dim = queries.vectors.shape
    flat = queries.vectors.reshape(-1, dim).T.to(blocks.vectors[0].dtype)
    scores = torch.empty((number, len(blocks.order)), device=flat.device)
    rows = max(len(block) * block.shape[1] for block in blocks.vectors)
    similar = torch.empty((rows, number * longest), device=flat.device)  # again and again, so that it stays in the caches
    for first, block in zip(blocks.bounds.tolist(), blocks.vectors, strict=False):
        here = _multiply(block.view(-1, dim), flat, similar[: len(block) * block.shape[1]])
        best = _largest(here.view(len(block), -1, number * longest))
        scores[:, first : first + len(block)] = best.view(-1, number, longest).sum(dim=2).T
    return scores


def _multiply(some: torch.Tensor, others: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    """Multiply matrices of the type of fast products into one in float32, for which there is room."""
    if some.dtype == torch.float32:
        return multiply(some, others.T, out=products)
    return torch.mm(some, others, out_dtype=torch.float32, out=products)


def _largest(similar: torch.Tensor) -> torch.Tensor:
    """Return the largest of each text, from shape (texts, length, m) to (texts, m); on a CPU numpy is faster than torch."""
    return similar.amax(dim=1) if similar.is_cuda else torch.from_numpy(similar.numpy().max(axis=1))


def error_bounds(queries: Queries) -> torch.Tensor:
    """Bound, for each of n queries, the distance between a fast score and the exact one, float32 of shape (n,).

    A sum of d products is off by at most g(d) |x| |y|, where g(d) = d u / (1 - d u) and u is the error of an addition, in
    whatever order (Higham 2002, section 3.1); a maximum by no more than what it is taken of; and a sum of n of these in float32
    by g(n) of their absolute values besides. Twice that is taken: it covers that two exact scores which float32 does not tell
    apart tie. Products of float16 are exact in float32, and far above its smallest normal number, or 0.
    """
    _, longest, dim = queries.vectors.shape
    return 2 * _rounding(longest + 2, dim, fast_type(queries.vectors.device)) * LONGEST * queries.vectors.norm(dim=2).sum(dim=1)


def _rounding(sums: int, products: int, of: torch.dtype) -> float:
    """Bound the relative error of so many additions in float32, and of so many in a product of vectors of a type."""
    error = sums * UNIT_ROUNDOFF[torch.float32] + products * UNIT_ROUNDOFF[of]
    return error / (1 - error)


def exact_scores(
    queries: Queries, block: torch.Tensor, query: torch.Tensor, text: torch.Tensor, halvings: int = 0
) -> torch.Tensor:
    """Score pairs of query and text exactly, float32 of shape (m,).

    The product of matrices says which tokens can be the best; of these, the similarity is computed in double. ``query`` has the
    number of each pair's query and ``text`` the place of its text in the block, both int64 of shape (m,); on a CPU it is fastest
    where equal ones are neighbours. ``halvings`` are those of the pairs that are scored at once, because memory ran out.
    """
    longest, length = queries.vectors.shape[1], block.shape[1]
    sizes = SIZES[query.device.type].halved(halvings)
    size = max(1, min(sizes.similarities // length, sizes.exact_tokens) // longest)
    parts = [
        _exact_scores(queries.some(query[first : first + size]), block, text[first : first + size])
        for first in range(0, len(query), size)
    ]
    return torch.cat(parts) if parts else torch.empty(0, device=query.device)


def _exact_scores(queries: Queries, block: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    """Score n pairs: each query with the text at its place in the block."""
    (number, longest, dim), length = queries.vectors.shape, block.shape[1]
    similar = _similarities(queries.vectors, block, text)
    # The largest and its rival may each be off by the bound.
    within = 2 * _rounding(2, dim, torch.float32) * LONGEST * queries.vectors.norm(dim=2)
    own = torch.arange(longest, device=text.device) < queries.counts[:, None]
    least = torch.where(own, similar.amax(dim=2) - within, torch.inf)
    near = places_of(similar >= least[:, :, None])
    token = near // length  # of all queries
    of_block = text[token // longest] * length + near % length
    pairs = (vectors.reshape(-1, dim).index_select(0, at) for vectors, at in ((queries.vectors, token), (block, of_block)))
    best = torch.full((number * longest,), -torch.inf, dtype=torch.float64, device=text.device)
    best.scatter_reduce_(0, token, _products(*pairs), "amax")
    best = torch.where(own, best.view(number, longest), 0)
    total = torch.zeros(number, dtype=torch.float64, device=text.device)
    for column in best.unbind(dim=1):  # in one order, which a reduction of torch does not promise
        total += column
    return total.float() + 0  # no -0


def _similarities(vectors: torch.Tensor, block: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    """Compare n queries, shape (n, longest, dim), with a text of the block each: float32 of shape (n, longest, length)."""
    if text.is_cuda:
        return torch.bmm(vectors, block[text].float().transpose(1, 2))
    (number, longest, dim), length = vectors.shape, block.shape[1]
    similar = torch.empty((number, longest, length))
    bounds = np.flatnonzero(np.diff(text.numpy(), prepend=-1, append=-1))
    for first, last in pairwise(bounds.tolist()):  # one product for all queries of a text, which is not copied for each
        torch.mm(vectors[first:last].reshape(-1, dim), block[text[first]].float().T, out=similar[first:last].view(-1, length))
    return similar


def _products(some: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Compute dot products in double, from shape (n, dim) to (n,), in whatever order; on a CPU numpy is faster than torch."""
    if some.is_cuda:
        return (some.double() * others.double()).sum(dim=1)
    return torch.from_numpy(np.einsum("nd,nd->n", some.numpy(), others.numpy(), dtype=np.float64))
