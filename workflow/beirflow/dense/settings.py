"""The settings of a dense system."""

from dataclasses import dataclass

from beirflow.models.settings import EncoderSettings


@dataclass(frozen=True)
class DenseSettings(EncoderSettings):
    """An encoder, and how its vectors are compared.

    Attributes:
        similarity: ``dot`` or ``cosine``.
    """

    similarity: str = "dot"
