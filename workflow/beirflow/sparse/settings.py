"""The settings of a learned sparse system."""

from dataclasses import dataclass

from beirflow.models.settings import ModelSettings
from beirflow.runs.ranking import Ties


@dataclass(frozen=True)
class SparseSettings(ModelSettings):
    """A model that weighs the terms of a vocabulary, and what is done with its weights. The schema checks what they may be.

    What is None is as the model's folder says; where the folder says nothing, as each attribute says.

    Attributes:
        head: ``splade``, the head of a masked language model, pooled along the positions; ``unicoil``, one weight a token; or
            ``sparta``, the products of hidden states and word embeddings.
        queries: ``model``, queries are weighed as documents are; or ``tokens``, every token of a query weighs 1 and no model
            reads it. The model's own way if None: of a SparseEncoder with two routes that of the queries, of SPARTA ``tokens``,
            else ``model``.
        query_model: Hub id, folder or package of the queries' own model; None if they have the documents'.
        query_revision: Its commit on the hub.
        query_weights: Name of the file that holds its weights.
        pooling: ``max`` or ``sum`` along the positions, of ``splade``; max if nothing says otherwise.
        activation: ``relu`` or ``log1p_relu``, before the logarithm, of ``splade``; relu if nothing says otherwise.
        max_length: Tokens after which a document is cut, special tokens included; what the tokenizer says if nothing does.
        query_max_length: The same of queries; ``max_length`` if None.
        query_prefix: What is written before every query; nothing if nothing says otherwise.
        document_prefix: What is written before every document; nothing if nothing says otherwise.
        most_terms: Terms kept of a text, those that weigh most; of ``sparta`` 2000, else all, if nothing says otherwise.
        quantize: ``lucene``, weights are integers, 256 for a weight of 5, as runs with Lucene have them; or ``none``.
        ties: How documents with the same score are ordered by their ids.
    """

    head: str = "splade"
    queries: str | None = None
    query_model: str | None = None
    query_revision: str | None = None
    query_weights: str = "model.safetensors"
    pooling: str | None = None
    activation: str | None = None
    max_length: int | None = None
    query_max_length: int | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    most_terms: int | None = None
    quantize: str = "none"
    ties: Ties = "descending"

    def model_of_queries(self) -> ModelSettings | None:
        """Where the queries' own model is; None if they have none."""
        if self.query_model is None:
            return None
        return ModelSettings(self.name, self.query_model, self.query_revision, weights=self.query_weights)
