"""The settings of training an encoder for a dataset on generated queries: GenQ of the BEIR paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from annotated_types import Interval

from beirflow.core.keys import As, Count, MostProbable, PositiveShare, Seed, Share, Text, Tokens, WrittenTokens
from beirflow.families.expansions.settings import Expansion, WrittenQueries


class Generator(Expansion):
    """Location of a T5, or of the queries that it wrote, as 'id' and 'queries'."""

    without: ClassVar = ("max_length",)


@dataclass(frozen=True)
class Training:
    """The queries that are written, and how the encoder is trained.

    Queries, documents, ``top_k`` and ``top_p`` are those of the BEIR paper, which does not say the rest. Batch and ``max_length``
    are those of its authors' later training with this loss (GPL), rate, warm-up and one epoch the defaults of their package.
    """

    generator: Annotated[Mapping[str, Any], As(Text | Generator)] = field(hash=False)
    """The T5 that writes queries: its folder, or where it is; or the file that holds them, all of which are used then."""
    queries: Annotated[int, Interval(ge=1, le=1000)] = 5
    """Queries written for a document."""
    documents: Count = 100_000
    """Most documents that queries are written for, drawn by the seed and their ids."""
    top_k: MostProbable = 25
    """The next token of a query is drawn from this many, the most probable ones."""
    top_p: PositiveShare = 0.95
    """And of these from the fewest whose probabilities reach this sum."""
    query_length: WrittenTokens = 64
    """Tokens after which a query is cut."""
    seed: Seed = 0
    """Of every draw: documents, queries, their order, dropout."""
    epochs: Annotated[int, Interval(ge=1, le=1000)] = 1
    """How often every pair of query and document is seen."""
    batch: Annotated[int, Interval(ge=2, le=100_000)] = 75
    """Pairs of a step, each with the documents of the others as negatives."""
    learning_rate: PositiveShare = 2e-5
    """Of AdamW, at its highest."""
    warmup: Share = 0.1
    """Share of the steps in which the rate rises; in the others it falls to 0."""
    max_length: Tokens = 350
    """Tokens after which texts are cut while the encoder is trained."""

    def __post_init__(self) -> None:
        """Accept a generator that is only a place."""
        if isinstance(self.generator, str):
            object.__setattr__(self, "generator", {"model": self.generator})

    @property
    def added(self) -> WrittenQueries:
        """The queries that are written for documents."""
        names = ("queries", "documents", "top_k", "top_p", "query_length", "seed")
        return WrittenQueries(**self.generator, **{name: getattr(self, name) for name in names})
