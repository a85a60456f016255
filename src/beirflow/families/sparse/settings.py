"""The settings of a learned sparse system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from beirflow.core.keys import As, Keys, Ties, Tokens, TorchWeights, UpToMillion
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.models.settings import ModelSettings

INJECT = "inject"  # kind of joining queries with a document: those of their tokens that its text lacks follow it

USUAL_LENGTHS = {"text_length": 400, "expansion_length": 100}
"""Lengths without other settings, for systems that add something to documents; Pyserini's."""


class InjectedQueries(WrittenQueries):
    """Queries that are joined in one way."""

    without: ClassVar = ("join",)


@dataclass(frozen=True)
class SparseSettings(ModelSettings):
    """A model that weighs the terms of a vocabulary, and what is done with its weights.

    What is None is as the model's folder says.
    """

    weights: TorchWeights = "model.safetensors"
    """File that holds the weights. A pytorch_model.bin is read as tensors only, never as code."""
    head: Literal["splade", "unicoil", "sparta"] = "splade"
    """From hidden states to weights: the head of a masked language model, pooled along the positions; one weight per token; or
    products with word embeddings."""
    queries: Literal["model", "tokens"] | None = None
    """Whether the model reads queries too, or every token of a query weighs 1, as for SPLADE-doc; SPARTA counts the tokens."""
    query_weights: TorchWeights = "model.safetensors"
    """File that holds the weights of the queries' own model."""
    pooling: Literal["max", "sum"] | None = None
    """How the weights of the positions become one: max, or sum as in the first SPLADE."""
    activation: Literal["relu", "log1p_relu"] | None = None
    """What comes before the logarithm: relu, or log1p_relu, which takes it twice."""
    max_length: Tokens | None = None
    """Tokens after which a document is cut, special tokens included."""
    query_max_length: Tokens | None = None
    """Tokens after which a query is cut, special tokens included; max_length unless stated."""
    query_prefix: str | None = None
    """Written before every query."""
    document_prefix: str | None = None
    """Written before every document."""
    most_terms: UpToMillion | None = None
    """Terms kept of a text, those that weigh most; 2000 of sparta unless stated, else all."""
    quantize: Literal["lucene", "none"] = "none"
    """lucene: weights are rounded to integers, 256 for a weight of 5, as in published runs with Lucene."""
    ties: Ties = "descending"
    """Which of several documents with the same score the cut at top_k keeps: those with the last ids, or the first, as Lucene
    does."""
    expansion: Annotated[WrittenQueries | None, As(InjectedQueries)] = None
    """Queries whose new tokens stand behind the text of every document, of uniCOIL."""
    text_length: UpToMillion | None = None
    """Tokens after which the text of a document is cut before its expansion; 400 unless stated, as in Pyserini."""
    expansion_length: UpToMillion | None = None
    """Tokens after which its expansion is cut; 100 unless stated, as in Pyserini."""

    without: ClassVar = ("encoder", "arguments")
    kinds: ClassVar = {"model": Keys(("model",))}

    def __post_init__(self) -> None:
        """Take an entry of a configuration, and what the parameters of a rule or a manifest made of settings."""
        given: Any = self.expansion
        if given is not None:
            queries = WrittenQueries(**given) if isinstance(given, Mapping) else given
            object.__setattr__(self, "expansion", replace(queries, join=INJECT))
            for key, usual in USUAL_LENGTHS.items():
                object.__setattr__(self, key, usual if getattr(self, key) is None else getattr(self, key))

    @property
    def added(self) -> WrittenQueries | None:
        """Return the additions to the documents."""
        return self.expansion
