"""The settings of a dense system."""

from dataclasses import dataclass

from beirflow.models.settings import EncoderSettings


@dataclass(frozen=True)
class DenseSettings(EncoderSettings):
    """An encoder, and how its vectors are compared.

    Attributes:
        similarity: ``dot`` or ``cosine``.
        variant_of: The system whose vectors are compressed and searched; its encoder is that of this system. None where a system
            has vectors of its own.
        vectors: Of a variant, what is stored of a vector: ``float32``, ``float16``, ``int8`` or ``binary``.
        dimensions: Of a variant, how many of the first dimensions are stored; None for all.
    """

    similarity: str = "dot"
    variant_of: str | None = None
    vectors: str = "float32"
    dimensions: int | None = None


OF_A_VARIANT = ("variant_of", "vectors", "dimensions")
"""Settings that no vector that is encoded depends on."""
