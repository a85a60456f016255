"""The settings of a model; in a module of its own, so that only a change of these encodes again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from beirflow.core.keys import HIDDEN, Count, Digest, EncoderClass, Package, Revision, Text, Tokens, Weights
from beirflow.data.document_text import TITLE_END

LIBRARY = "sentence-transformers"  # in place of a class: this library encodes
OF_LIBRARY = ("model", "revision", "offline", "arguments")  # keys of systems that it computes
ONNX = ".onnx"  # suffix of the weights that ONNX Runtime computes
INSTRUCTION = "{instruction}"  # in a prefix of queries, where the instruction of the dataset is written


@dataclass(frozen=True)
class ModelSettings:
    """A model: the place of its files, or a class of the user's own."""

    name: Annotated[str, HIDDEN]  # name of the system that uses it
    model: Text = ""  # empty with an ``encoder``, and for a model made here
    """Hub id (owner/name, with a revision), folder, or package:<import name>/<folder> for weights that a Python package ships."""
    revision: Revision | None = None
    """Commit of the hub repository; none for a folder or a package."""
    offline: Package | None = None
    """Where the same weights are without a hub."""
    weights: Weights = "model.safetensors"
    """File that holds the weights, or an ONNX graph below the folder."""
    weights_sha256: Digest | None = None
    """Digest of that file."""
    query_model: Text | None = None
    """A separate model of the queries, as in DPR: hub id, folder or package; model is then that of the documents."""
    query_revision: Revision | None = None
    """Commit of the hub repository of that model."""
    encoder: EncoderClass | None = None
    """package.module:Class, a class of your own in place of a model; or sentence-transformers, which then computes the model."""
    arguments: Mapping[str, Any] | None = field(default=None, hash=False)
    """Arguments of the class, by name. They are recorded; for a password or a key write ${NAME}, an environment variable."""

    family: ClassVar[str] = "dense"  # its name, by which an extension has a class that computes such models

    def explicit(self, *keys: str) -> dict[str, Any]:
        """Return those of some settings that are not None, by name, in the order of the arguments."""
        return {key: value for key in keys if (value := vars(self)[key]) is not None}

    @property
    def source(self) -> str:
        """The model or the class, for messages."""
        return self.model or self.encoder or ""

    @property
    def has_own_precision(self) -> bool:
        """Test whether the model computes in a precision of its own, whatever is configured."""
        return self.encoder is not None or self.weights.endswith(ONNX)


@dataclass(frozen=True)
class EncoderSettings(ModelSettings):
    """A model that gives one vector per text. None keeps the statement of the model's files."""

    pooling: Literal["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "pooler"] | None = None
    """How the vectors of the tokens become one, as sentence-transformers names it, or the model's own pooler."""
    normalize: bool | None = None
    """Whether vectors are scaled to length 1 when they are encoded."""
    max_length: Tokens | None = None
    """Tokens after which a text is cut, special tokens included."""
    query_prefix: str | None = None
    """Written before every query, e.g. 'query: '."""
    document_prefix: str | None = None
    """Written before every document, e.g. 'passage: '."""
    dimensions: Count | None = None
    """Leading dimensions of a vector that are kept (Matryoshka)."""
    title_separator: Text | None = None
    """Written between title and text of a document, as DPR wants ' [SEP] '; one space if left out."""
    # for a class of the user's own, the task of the dataset in MTEB, or its name if it is none; None for others
    task: Annotated[str | None, HIDDEN] = None

    @property
    def between(self) -> str | None:
        """Return the separator of title and text of the documents that the encoder gets; one space if None."""
        return TITLE_END if self.encoder else self.title_separator
