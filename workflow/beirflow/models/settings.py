"""The settings of a model; in a module of its own, so that only a change of these encodes again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beirflow.datasets.document_text import TITLE_END

ONNX = ".onnx"
"""Suffix of the weights that ONNX Runtime computes."""


@dataclass(frozen=True)
class ModelSettings:
    """A model: the place of its files, or a class of the user's own.

    Attributes:
        name: Name of the system that uses it.
        model: Hub id, folder, or ``package:<import name>/<folder>``; empty with an ``encoder``, and for a model trained here.
        revision: Commit of the hub repository, 40 hexadecimal digits; None for a folder or a package.
        offline: Source of the same weights without a hub, as ``package:<import name>/<folder>``; None if there is none.
        weights: Name of the file that holds the weights; of an ONNX graph, its path below the folder.
        weights_sha256: Its digest; None if unknown.
        query_model: The queries' own model; ``model`` is then that of the documents.
        query_revision: Its revision.
        encoder: ``package.module:Class``, a class of the user's own that encodes instead of a model.
        arguments: Arguments of its constructor.
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
    """A model that gives one vector per text. None keeps the statement of the model's files.

    Attributes:
        pooling: ``mean``, ``cls``, ``max``, ``mean_sqrt_len_tokens``, ``weightedmean``, ``lasttoken`` or ``pooler``.
        normalize: Whether vectors are scaled to length 1 when they are encoded.
        max_length: Tokens after which a text is cut, special tokens included.
        query_prefix: Text before every query.
        document_prefix: Text before every document.
        dimensions: Leading dimensions of a vector that are kept.
        title_separator: Text between title and text of a document, as beir's ``sep``; one space if None.
        task: For a class of the user's own, the task of the dataset in MTEB, or its name if it is none; None for others.
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
