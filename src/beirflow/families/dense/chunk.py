"""A chunk of documents with the queries that search it: read block by block, in sizes that fit the memory of the device."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch

from beirflow.core.background import map_ahead
from beirflow.families.dense.compression import CompressedFile
from beirflow.families.dense.vectors import VectorFile, VectorFiles
from beirflow.models.computing.arrival import send
from beirflow.run.threads import Threads


class Sizes(NamedTuple):
    """Sizes of the blocks of the computation."""

    queries: int  # queries of a product
    documents: int  # documents of a block and of a product with so many queries
    few: int  # documents of a block for fewer queries
    pairs: int  # pairs that are scored exactly at once


SIZES = {"cpu": Sizes(512, 2048, 16_384, 512), "cuda": Sizes(4096, 65_536, 65_536, 1 << 18)}
"""Largest sizes: on a CPU what its caches hold, on a GPU enough to keep it busy, where a block of scores takes 1 GiB."""

BLOCK_BYTES = 1 << 29
DOCUMENT_BYTES = 24
"""Bytes of a component of a document while it is scaled to length 1: as it is read, twice in float64, and the result; of two
blocks, since one is read ahead."""

MANY_QUERIES = 64  # so many have candidates among most documents of a block


class InMemoryChunk:
    """Documents that stay on the device, prepared for repeated searches with one similarity."""

    def __init__(self, documents: "Vectors", similarity: str, device: torch.device) -> None:
        self.shape = documents.shape
        self._vectors, self.longest = torch.empty(self.shape, device=device), torch.zeros((), device=device)
        size = _block_size(self.shape[1], SIZES[device.type].few)
        for start in range(0, len(documents), size):
            vectors = prepare(documents[start : start + size], similarity, device)
            self._vectors[start : start + size] = vectors
            self.longest = torch.maximum(self.longest, longest_norm(vectors))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> torch.Tensor:
        return self._vectors[rows]


Vectors = np.ndarray | VectorFile | VectorFiles | CompressedFile  # float32 of shape (documents, dim), read in slices


class Block(NamedTuple):
    """Documents that are read at once."""

    start: int  # row of the first
    vectors: torch.Tensor  # float32 of shape (n, dim), on the device
    longest: torch.Tensor  # length of the longest of them
    exact: torch.Tensor | None  # the vectors in float64, where a CPU computes exact scores of many pairs


@dataclass(frozen=True)
class Chunk:
    """Queries and the chunk that they search."""

    queries: torch.Tensor  # float32 of shape (queries, dim), on the device
    documents: Vectors | InMemoryChunk  # float32 of shape (documents, dim)
    excluded: np.ndarray  # for each query rows that are left out, or -1; int64 of shape (queries, n)
    similarity: str  # ``dot`` or ``cosine``
    threads: Threads  # share the queries
    halvings: int = 0  # halvings of the blocks, because memory ran out

    @property
    def device(self) -> torch.device:
        """Device of the computation."""
        return self.queries.device

    @cached_property
    def exact(self) -> torch.Tensor:
        """Queries in float64."""
        return self.queries.double()

    @cached_property
    def norms(self) -> torch.Tensor:
        """Lengths of the queries, float64 of shape (queries,)."""
        return self.exact.norm(dim=1)

    @property
    def queries_at_once(self) -> int:
        """Queries of a product."""
        return max(1, SIZES[self.device.type].queries >> self.halvings)

    @property
    def starts(self) -> range:
        """Row of the first document of each block."""
        sizes = SIZES[self.device.type]
        most = max(sizes.documents, min(sizes.few, sizes.queries * sizes.documents // len(self.queries)))
        return range(0, len(self.documents), self.block_size(most))

    def block_size(self, most: int) -> int:
        """Return how many documents may be read at once, at most so many."""
        return max(1, _block_size(self.queries.shape[1], most) >> self.halvings)

    def blocks(self) -> Iterator[Block]:
        """Read the documents, block by block."""
        return map_ahead(partial(self._block, size=self.starts.step), self.starts)

    def _block(self, start: int, size: int) -> Block:
        vectors = self.vectors(start, start + size)
        longest = self.documents.longest if isinstance(self.documents, InMemoryChunk) else longest_norm(vectors)
        is_double = self.device.type == "cpu" and len(self.queries) >= MANY_QUERIES
        return Block(start, vectors, longest, vectors.double() if is_double else None)

    def vectors(self, start: int, stop: int) -> torch.Tensor:
        """Read some documents, float32 of shape (documents, dim)."""
        documents = self.documents[start:stop]
        return documents if isinstance(documents, torch.Tensor) else prepare(documents, self.similarity, self.device)


def _block_size(dim: int, most: int) -> int:
    """Return how many documents are read at once: fewer where so many dimensions would take too much memory."""
    return min(most, max(1, BLOCK_BYTES // (DOCUMENT_BYTES * dim)))


def longest_norm(vectors: torch.Tensor) -> torch.Tensor:
    """Return the length of the longest vector."""
    return vectors.norm(dim=1).max()


def prepare(vectors: np.ndarray, similarity: str, device: torch.device) -> torch.Tensor:
    """Copy vectors to the device, scaled to length 1 for the cosine."""
    tensor = send(vectors, device)
    if similarity == "cosine":
        # float64: squares of float32 numbers neither overflow nor vanish in it.
        exact = tensor.double()
        tensor = (exact / exact.norm(dim=1, keepdim=True).clamp_min(1e-60)).float()
    return tensor
