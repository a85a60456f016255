"""The settings of a learned sparse system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from beirflow.families.expansions.settings import WrittenQueries
from beirflow.models.settings import ModelSettings

INJECT = "inject"  # kind of joining queries with a document: those of their tokens that its text lacks follow it

USUAL_LENGTHS = {"text_length": 400, "expansion_length": 100}
"""Lengths without other settings, for systems that add something to documents; Pyserini's."""


@dataclass(frozen=True)
class SparseSettings(ModelSettings):
    """A model that weighs the terms of a vocabulary, and what is done with its weights. The schema checks what they may be.

    What is None is as the model's folder says; where the folder says nothing, as each attribute says.
    """

    # ``splade``, the head of a masked language model, pooled along the positions; ``unicoil``, one weight a token; or ``sparta``,
    # the products of hidden states and word embeddings
    head: str = "splade"
    # ``model``, queries are weighed as documents are; or ``tokens``, every token of a query weighs 1 and no model reads it. The
    # model's own way if None: of a SparseEncoder with two routes that of the queries, of SPARTA ``tokens``, else ``model``
    queries: str | None = None
    query_weights: str = "model.safetensors"  # name of the file that holds its weights
    pooling: str | None = None  # ``max`` or ``sum`` along the positions, of ``splade``; max if nothing says otherwise
    # ``relu`` or ``log1p_relu``, before the logarithm, of ``splade``; relu if nothing says otherwise
    activation: str | None = None
    # tokens after which a document is cut, special tokens included; what the tokenizer says if nothing does
    max_length: int | None = None
    query_max_length: int | None = None  # the same of queries; ``max_length`` if None
    query_prefix: str | None = None  # what is written before every query; nothing if nothing says otherwise
    document_prefix: str | None = None  # what is written before every document; nothing if nothing says otherwise
    # terms kept of a text, those that weigh most; of ``sparta`` 2000, else all, if nothing says otherwise
    most_terms: int | None = None
    quantize: str = "none"  # ``lucene``, weights are integers, 256 for a weight of 5, as runs with Lucene have them; or ``none``
    # order of ids by which the cut keeps the first of documents with the same score
    ties: Literal["descending", "ascending"] = "descending"
    # queries whose new tokens stand behind the text of every document, of ``unicoil``; None if there are none
    expansion: WrittenQueries | None = None
    text_length: int | None = None  # tokens after which the text of such a document is cut; 400 if nothing says otherwise
    # tokens after which its queries, one after the other, are cut; 100 if nothing says otherwise
    expansion_length: int | None = None

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

    @property
    def models(self) -> list[ModelSettings]:
        """Places of the model, and of the queries' own model if there is one."""
        if self.query_model is None:
            return [self]
        return [self, ModelSettings(self.name, self.query_model, self.query_revision, weights=self.query_weights)]
