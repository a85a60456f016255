"""The settings of a dense system."""

from dataclasses import asdict, dataclass, fields

from beirflow.models.settings import EncoderSettings, ModelSettings


@dataclass(frozen=True)
class DenseSettings(EncoderSettings):
    """An encoder, and how its vectors are compared.

    Attributes:
        similarity: ``dot`` or ``cosine``; None is as the files of the model say.
    """

    similarity: str | None = None

    @property
    def said(self) -> list[str]:
        """Names of the settings that the configuration says, in order."""
        return sorted(key for key, value in asdict(self).items() if key not in _MODEL and value is not None)


_MODEL = {field.name for field in fields(ModelSettings)}
