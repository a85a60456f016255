"""The settings of a model; in a module of its own, so that only a change of these encodes again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beirflow.datasets.document_text import TITLE_END

ONNX = ".onnx"
"""Suffix of the weights that ONNX Runtime computes."""


@dataclass(frozen=True)
class ModelSettings:
    """A model: where its files are, or which class of the user's own it is.

    Attributes:
        name: Name of the system that uses it.
        model: Hub id, folder, or ``package:<import name>/<folder>``; empty where there is an ``encoder``, and of a model
            that was trained here, which is next to its record.
        revision: Commit of the hub repository, 40 hexadecimal digits; None for a folder or a package.
        offline: Where the same weights are found without a hub, as ``package:<import name>/<folder>``; None if nowhere.
        weights: Name of the file that holds the weights; of an ONNX graph, its path below the folder.
        weights_sha256: Its digest; None where it is not known.
        query_model: The model of the queries, where they have one of their own; ``model`` is that of the documents then.
        query_revision: Its revision.
        encoder: ``package.module:Class``, a class of the user's own that encodes in place of a model.
        arguments: What it is made with.
    """

    name: str
    model: str = ""
    revision: str | None = None
    offline: str | None = None
    weights: str = "model.safetensors"
    weights_sha256: str | None = None
    query_model: str | None = None
    query_revision: str | None = None
    encoder: str | None = None
    arguments: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def source(self) -> str:
        """The model or the class, for messages."""
        return self.encoder or self.model

    @property
    def has_own_precision(self) -> bool:
        """Test whether the model computes in a precision of its own, whatever is configured."""
        return self.encoder is not None or self.weights.endswith(ONNX)


@dataclass(frozen=True)
class EncoderSettings(ModelSettings):
    """A model that gives one vector a text. What is None is as the files of the model say.

    Attributes:
        pooling: ``mean``, ``cls``, ``max``, ``mean_sqrt_len_tokens``, ``weightedmean``, ``lasttoken`` or ``pooler``.
        normalize: Whether vectors are scaled to length 1 when they are encoded.
        max_length: Tokens after which a text is cut, special tokens included.
        query_prefix: What is written before every query.
        document_prefix: What is written before every document.
        dimensions: Leading dimensions of a vector that are kept.
        title_separator: What stands between title and text of a document, as beir's ``sep``; one space if None.
        task: What a class of the user's own is told of the dataset: its task in MTEB, or its name if it is none; None for others.
    """

    pooling: str | None = None
    normalize: bool | None = None
    max_length: int | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    dimensions: int | None = None
    title_separator: str | None = None
    task: str | None = None

    @property
    def between(self) -> str | None:
        """Return the separator of title and text of the documents that the encoder gets; one space if None."""
        return TITLE_END if self.encoder else self.title_separator
