"""What a model is and how it encodes; in a module of its own, so that only a change of this encodes again."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelSettings:
    """A model: where its files are.

    Attributes:
        name: Name of the system that uses it.
        model: Hub id, folder, or ``package:<import name>/<folder>``.
        revision: Commit of the hub repository, 40 hexadecimal digits; None for a folder or a package.
        offline: Where the same weights are found without a hub, as ``package:<import name>/<folder>``; None if nowhere.
        weights: Name of the file that holds the weights.
        weights_sha256: Its digest; None where it is not known.
    """

    name: str
    model: str
    revision: str | None = None
    offline: str | None = None
    weights: str = "model.safetensors"
    weights_sha256: str | None = None


@dataclass(frozen=True)
class EncoderSettings(ModelSettings):
    """A model that gives one vector a text.

    Attributes:
        pooling: ``mean``, ``cls`` or ``pooler``.
        normalize: Whether vectors are scaled to length 1 when they are encoded.
        max_length: Tokens after which a text is cut, special tokens included.
        query_prefix: What is written before every query.
        document_prefix: What is written before every document.
    """

    pooling: str = "mean"
    normalize: bool = False
    max_length: int = 512
    query_prefix: str = ""
    document_prefix: str = ""
