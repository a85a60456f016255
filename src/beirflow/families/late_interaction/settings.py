"""The settings of a late-interaction system."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from beirflow.models.settings import ModelSettings


@dataclass(frozen=True)
class LateSettings(ModelSettings):
    """A model that gives one vector a token. What is None is as the files of the model say."""

    # tokens of a query, special tokens and marker included: after as many it is cut, and filled up to as many where the model
    # fills up queries
    query_length: int | None = None
    query_lengths: Mapping[str, int] = field(default_factory=dict, hash=False)  # the same by dataset, which goes before it
    document_length: int | None = None  # tokens after which a document is cut, special tokens and marker included
    # how many vectors of like tokens of a document become one, about, which loses something; None for all vectors
    pool_factor: int | None = None

    def for_dataset(self, dataset: str, _corpus: str = "") -> "LateSettings":
        """Return the settings with the length of queries of one dataset, the same for all its forums."""
        return replace(self, query_length=self.query_lengths.get(dataset, self.query_length), query_lengths={})
