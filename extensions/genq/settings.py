"""The settings of training an encoder for a dataset on generated queries: GenQ of the BEIR paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beirflow.families.expansions.settings import WrittenQueries


@dataclass(frozen=True)
class Training:
    """Settings of written queries and of the training on them; the schema checks the entries.

    Queries, documents, ``top_k`` and ``top_p`` are those of the BEIR paper, which does not say the rest. Batch and ``max_length``
    are those of its authors' later training with this loss (GPL), rate, warm-up and one epoch the defaults of their package.
    """

    # where the T5 is that writes queries: fields of ``Expansion``. Or ``path``, the file that
    # holds them; all of them are used then, whatever is said here of how they are written
    generator: Mapping[str, Any] = field(hash=False)
    queries: int = 5  # queries written for a document
    documents: int = 100_000  # most documents that queries are written for, drawn by the seed and their ids
    top_k: int = 25  # the next token of a query is drawn from this many, the most probable ones
    top_p: float = 0.95  # and of these from the fewest whose probabilities reach this sum
    query_length: int = 64  # tokens after which a query is cut
    seed: int = 0  # of every draw: documents, queries, their order, dropout
    epochs: int = 1  # how often every pair of query and document is seen
    batch: int = 75  # pairs of a step; each query is compared with the documents of all
    learning_rate: float = 2e-5  # of AdamW, at its highest
    warmup: float = 0.1  # share of the steps in which it rises; in the others it falls to 0
    max_length: int = 350  # tokens after which a text is cut while the encoder is trained

    def __post_init__(self) -> None:
        """Accept a generator that is only a place."""
        if isinstance(self.generator, str):
            object.__setattr__(self, "generator", {"model": self.generator})

    @property
    def added(self) -> WrittenQueries:
        """The queries that are written for documents."""
        names = ("queries", "documents", "top_k", "top_p", "query_length", "seed")
        return WrittenQueries(**self.generator, **{name: getattr(self, name) for name in names})
