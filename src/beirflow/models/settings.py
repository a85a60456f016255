"""The settings of a model; in a module of its own, so that only a change of these encodes again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beirflow.data.document_text import TITLE_END

ONNX = ".onnx"  # suffix of the weights that ONNX Runtime computes
INSTRUCTION = "{instruction}"  # in a prefix of queries, where the instruction of the dataset is written


@dataclass(frozen=True)
class ModelSettings:
    """A model: the place of its files, or a class of the user's own."""

    name: str  # name of the system that uses it
    # hub id, folder, or ``package:<import name>/<folder>``; empty with an ``encoder``, and for a model made here
    model: str = ""
    revision: str | None = None  # commit of the hub repository, 40 hexadecimal digits; None for a folder or a package
    # source of the same weights without a hub, as ``package:<import name>/<folder>``; None if there is none
    offline: str | None = None
    weights: str = "model.safetensors"  # name of the file that holds the weights; of an ONNX graph, its path below the folder
    weights_sha256: str | None = None  # its digest; None if unknown
    query_model: str | None = None  # the queries' own model; ``model`` is then that of the documents
    query_revision: str | None = None  # its revision
    encoder: str | None = None  # ``package.module:Class``, a class of the user's own that encodes instead of a model
    arguments: Mapping[str, Any] | None = field(default=None, hash=False)  # arguments of its constructor

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
    """A model that gives one vector per text. None keeps the statement of the model's files."""

    # ``mean``, ``cls``, ``max``, ``mean_sqrt_len_tokens``, ``weightedmean``, ``lasttoken`` or ``pooler``
    pooling: str | None = None
    normalize: bool | None = None  # whether vectors are scaled to length 1 when they are encoded
    max_length: int | None = None  # tokens after which a text is cut, special tokens included
    query_prefix: str | None = None  # text before every query
    document_prefix: str | None = None  # text before every document
    dimensions: int | None = None  # leading dimensions of a vector that are kept
    title_separator: str | None = None  # text between title and text of a document, as beir's ``sep``; one space if None
    # for a class of the user's own, the task of the dataset in MTEB, or its name if it is none; None for others
    task: str | None = None

    @property
    def between(self) -> str | None:
        """Return the separator of title and text of the documents that the encoder gets; one space if None."""
        return TITLE_END if self.encoder else self.title_separator
