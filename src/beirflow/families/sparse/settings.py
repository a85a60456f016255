"""The settings of a learned sparse system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from beirflow.core.keys import As, Keys, Ties, Tokens, TorchWeights, UpToMillion
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.models.settings import LIBRARY, OF_LIBRARY, ModelSettings

INJECT = "inject"  # way of joining queries with a document: those of their tokens that its text lacks follow it

USUAL_LENGTHS = {"text_length": 400, "expansion_length": 100}
"""Default lengths of documents with an expansion, as in Pyserini."""


class InjectedQueries(WrittenQueries):
    """Generated queries that can be joined in one way only."""

    without: ClassVar = ("join",)


@dataclass(frozen=True)
class SparseSettings(ModelSettings):
    """A model that weighs the terms of a vocabulary. A setting that is None is read from the model's folder."""

    weights: TorchWeights = "model.safetensors"
    """File that holds the weights. A pytorch_model.bin is read as tensors only, never as code."""
    head: Literal["splade", "unicoil", "sparta"] = "splade"
    """Layer that turns hidden states into weights: the head of a masked language model, pooled over the tokens; one weight per
    token; or products with the word embeddings."""
    queries: Literal["model", "tokens"] | None = None
    """Weights of queries: by the model, or 1 for every token, as in SPLADE-doc; SPARTA counts the tokens."""
    query_weights: TorchWeights = "model.safetensors"
    """File that holds the weights of the queries' own model."""
    pooling: Literal["max", "sum"] | None = None
    """Pooling of the weights of a term over the tokens: max, or sum as in the first SPLADE."""
    activation: Literal["relu", "log1p_relu"] | None = None
    """Activation before the logarithm: relu, or log1p_relu, which takes the logarithm twice."""
    max_length: Tokens | None = None
    """Tokens after which a document is cut, special tokens included."""
    query_max_length: Tokens | None = None
    """Tokens after which a query is cut, special tokens included; by default max_length."""
    query_prefix: str | None = None
    """Written before every query."""
    document_prefix: str | None = None
    """Written before every document."""
    most_terms: UpToMillion | None = None
    """Terms kept of a text, those that weigh most; by default 2000 of sparta, else all."""
    quantize: Literal["lucene", "none"] = "none"
    """Quantization of weights: lucene rounds them to integers, 256 for a weight of 5, as in published runs with Lucene."""
    ties: Ties = "descending"
    """Order of the ids of documents with the same score at the cut at top_k: the last are kept, or the first, as by Lucene."""
    expansion: Annotated[WrittenQueries | None, As(InjectedQueries)] = None
    """Generated queries, of uniCOIL: those of their tokens that a document lacks follow its text."""
    text_length: UpToMillion | None = None
    """Tokens after which the text of a document is cut before its expansion; by default 400, as in Pyserini."""
    expansion_length: UpToMillion | None = None
    """Tokens after which its expansion is cut; by default 100, as in Pyserini."""

    kinds: ClassVar = {
        "encoder": Keys(
            ("encoder", "model"),
            (*OF_LIBRARY, "query_prefix", "document_prefix", "quantize", "ties"),
            types={"encoder": Literal[LIBRARY]},
        ),
        "model": Keys(("model",), without=("encoder", "arguments")),
    }
    family: ClassVar = "sparse"

    def __post_init__(self) -> None:
        """Convert the mapping of a configuration, of a rule's parameters or of a manifest to settings; set default lengths."""
        if self.expansion is None:
            return
        queries: Any = self.expansion
        queries = WrittenQueries(**queries) if isinstance(queries, Mapping) else queries
        object.__setattr__(self, "expansion", replace(queries, join=INJECT))
        for key, usual in USUAL_LENGTHS.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, usual)

    @property
    def added(self) -> WrittenQueries | None:
        """Expansion of the documents; None without one."""
        return self.expansion
