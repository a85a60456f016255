"""A chunk during search: documents are read one block ahead, and threads share the queries."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from beirflow.core.background import map_ahead
from beirflow.families.dense.block_pairs import ExcludedPairs
from beirflow.families.dense.compression import CompressedFile
from beirflow.families.dense.vectors import VectorFile
from beirflow.models.computing.arrival import send
from beirflow.run.threads import Threads

Vectors = np.ndarray | VectorFile | CompressedFile  # float32 of shape (documents, dim), read in slices


class Blocks(NamedTuple):
    """Sizes of the blocks of the computation."""

    queries: int  # queries of a product
    again: int  # queries whose computed scores are examined together
    documents: int  # documents that are read at once
    at_once: int  # documents of a product
    pairs: int  # pairs that are scored exactly at once

    def of_dim(self, dim: int) -> "Blocks":
        """Return the sizes with fewer documents and pairs where so many dimensions would take too much memory."""
        documents = min(self.documents, max(1, BLOCK_BYTES // (DOCUMENT_BYTES * dim)))
        pairs = max(1, PAIRS_BYTES // (PAIR_BYTES * dim))
        return Blocks(self.queries, self.again, documents, min(self.at_once, documents), min(self.pairs, pairs))

    def halved(self, times: int) -> "Blocks":
        """Return the sizes for less memory; pairs stay, since on CUDA the order of a sum depends on how many there are."""
        queries, again, documents, at_once = (max(1, size >> times) for size in self[:4])
        return Blocks(queries, again, documents, at_once, self.pairs)


BLOCKS = {"cpu": Blocks(512, 64, 8192, 2048, 512), "cuda": Blocks(4096, 4096, 65_536, 65_536, 1 << 18)}
"""Largest sizes: on a CPU what its caches hold, on a GPU enough to keep it busy, where a block of scores takes 1 GiB."""

BLOCK_BYTES = 1 << 29
DOCUMENT_BYTES = 24
"""Bytes of a component of a document while it is scaled to length 1: as it is read, twice in float64, and the result; of two
blocks, since one is read ahead."""

ROUNDED_VECTORS = 512  # vectors that are rounded at once: a cache holds them

PAIRS_BYTES = 1 << 28
PAIR_BYTES = 16  # bytes of a component of a pair while it is scored: both vectors, and their products in float64


class Block(NamedTuple):
    """Documents that are read at once."""

    start: int  # row of the first
    vectors: torch.Tensor  # float32 of shape (n, dim), on the device
    norms: torch.Tensor  # their lengths, float32 of shape (n,)
    fast: torch.Tensor  # the vectors in the type of fast scores
    rounded: float  # largest distance of one of these from its vector


class InMemoryChunk:
    """Documents that stay on the device, prepared for repeated searches with one similarity.

    ``parts`` are consecutive documents, such as those of each chunk.
    """

    def __init__(self, parts: Sequence[Vectors], similarity: str, device: torch.device) -> None:
        self.blocks: list[Block] = []
        self.shape = sum(len(part) for part in parts), parts[0].shape[1]
        size, first = BLOCKS[device.type].of_dim(self.shape[1]).documents, 0
        for part in parts:
            for start in range(0, len(part), size):
                vectors = prepare(part[start : start + size], similarity, device)
                self.blocks.append(Block(first, vectors, vectors.norm(dim=1), vectors, 0.0))
                first += len(vectors)

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True)
class Chunk:
    """Queries and the chunk that they search."""

    queries: torch.Tensor  # float32 of shape (queries, dim), on the device
    documents: Vectors | InMemoryChunk  # float32 of shape (documents, dim)
    excluded: torch.Tensor  # for each query rows that are left out, or -1; int64 of shape (queries, n)
    similarity: str  # ``dot`` or ``cosine``
    threads: Threads  # share the queries
    # type of the vectors in products for fast scores: float32, or bfloat16 for documents that are not held
    dtype: torch.dtype = torch.float32
    halvings: int = 0  # halvings of the blocks, because memory ran out
    kept: list[Block] = field(default_factory=list)  # by a GPU with enough memory, from the first time that they are read
    # of each slice of queries, since every block is compared with the same ones, in the blocks after so many halvings
    pairs: dict[tuple[int, int, int] | None, ExcludedPairs] = field(default_factory=dict)

    @cached_property
    def fast(self) -> torch.Tensor:
        """Queries in the type of fast scores."""
        return self.queries.to(self.dtype)

    @property
    def sizes(self) -> Blocks:
        """Return the sizes of the blocks on this device."""
        return BLOCKS[self.queries.device.type].of_dim(self.queries.shape[1]).halved(self.halvings)

    def share(self, function: Callable[[slice], None], most: int | None = None) -> None:
        """Call a function with parts of the queries, each at most those of a product, in several threads."""
        self.threads.share(function, len(self.queries), most or self.sizes.queries)

    def of_queries(self, queries: torch.Tensor) -> "Chunk":
        """Return the chunk with some of the queries, given by their numbers."""
        return replace(self, queries=self.queries[queries], excluded=self.excluded[queries], pairs={})

    @property
    def starts(self) -> list[int]:
        """Row of the first document of each block."""
        if isinstance(self.documents, InMemoryChunk):
            return [block.start for block in self.documents.blocks]
        return list(range(0, len(self.documents), self.sizes.documents))

    def blocks(self) -> Iterator[Block]:
        """Read the documents, block by block."""
        if isinstance(self.documents, InMemoryChunk) or self.kept:
            yield from self.documents.blocks if isinstance(self.documents, InMemoryChunk) else self.kept
            return
        blocks, keeps = list[Block](), self._has_room()
        for block in map_ahead(partial(self._block, self.documents), self.starts):
            if keeps:
                blocks.append(block)
            yield block
        self.kept.extend(blocks)

    def _has_room(self) -> bool:
        """Test whether the device is a GPU that can keep all documents in half of its free memory."""
        if self.queries.device.type != "cuda" or self.halvings:
            return False
        return 8 * math.prod(self.documents.shape) <= torch.cuda.mem_get_info()[0]

    def _block(self, documents: Vectors, start: int) -> Block:
        vectors = prepare(documents[start : start + self.sizes.documents], self.similarity, self.queries.device)
        return Block(start, vectors, vectors.norm(dim=1), *rounded_to(self.dtype, vectors))

    def _excluded_pairs(self, queries: slice | torch.Tensor) -> ExcludedPairs:
        of_slice = (queries.start, queries.stop, self.halvings) if isinstance(queries, slice) else None
        if of_slice in self.pairs:
            return self.pairs[of_slice]
        ends = [*self.starts[1:], len(self.documents)]
        products = [range(*block, self.sizes.at_once) for block in zip(self.starts, ends, strict=True)]
        pairs = ExcludedPairs.of(self.excluded[queries], list(chain.from_iterable(products)))
        if of_slice:
            self.pairs[of_slice] = pairs
        return pairs

    def scores(self, queries: slice | torch.Tensor, start: int, block: torch.Tensor) -> torch.Tensor:
        """Compute fast scores of queries with neighbouring documents, float32 of shape (queries, documents).

        ``start`` is the row of the first document, and ``block`` has the type of fast scores. An excluded document has minus
        infinity.
        """
        scores = (self.fast[queries] @ block.T).float()
        self._excluded_pairs(queries).leave_out(scores, start)
        return scores


def prepare(vectors: np.ndarray, similarity: str, device: torch.device) -> torch.Tensor:
    """Copy vectors to the device, scaled to length 1 for the cosine."""
    tensor = send(vectors, device)
    if similarity == "cosine":
        # float64: squares of float32 numbers neither overflow nor vanish in it.
        exact = tensor.double()
        tensor = (exact / exact.norm(dim=1, keepdim=True).clamp_min(1e-60)).float()
    return tensor


def rounded_to(dtype: torch.dtype, vectors: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Convert float32 vectors of shape (n, dim), n at least 1; return them with the length of the largest difference."""
    if vectors.dtype == dtype:
        return vectors, 0.0
    rounded = torch.empty_like(vectors, dtype=dtype)
    furthest = 0.0
    for some, of in zip(torch.split(vectors, ROUNDED_VECTORS), torch.split(rounded, ROUNDED_VECTORS), strict=True):
        furthest = max(furthest, float(of.copy_(some).float().sub_(some).norm(dim=1).max()))
    return rounded, furthest
