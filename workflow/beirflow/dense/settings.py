"""The settings of a dense system."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from beirflow.expansions.settings import WrittenQueries
from beirflow.models.settings import EncoderSettings, ModelSettings
from beirflow.training.settings import Training

INSTRUCTION = "{instruction}"
"""In a prefix of queries, where the instruction of the dataset is written."""


@dataclass(frozen=True)
class DenseSettings(EncoderSettings):
    """An encoder, and how its vectors are compared.

    Attributes:
        similarity: ``dot`` or ``cosine``; None is as the files of the model say.
        instructions: By dataset, what queries are for: written where ``query_prefix`` has ``{instruction}``.
        tasks: By dataset and by forum, its task in MTEB, for a class of the user's own; empty for a model.
        variant_of: The system whose vectors are compressed and searched; its encoder is that of this system. None where a system
            has vectors of its own.
        vectors: Of a variant, what is stored of a vector: ``float32``, ``float16``, ``int8`` or ``binary``.
        stored_dimensions: Of a variant, how many of the first dimensions are stored; None for all.
        train: How the encoder is trained for each dataset before it encodes that; ``model`` is what it begins as then. None where
            it is used as it is.
    """

    similarity: str | None = None
    instructions: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    variant_of: str | None = None
    vectors: str = "float32"
    stored_dimensions: int | None = None
    train: Training | None = None

    def __post_init__(self) -> None:
        """Take entries of a configuration, and what the parameters of a rule or a manifest made of settings."""
        if isinstance(self.train, Mapping):
            object.__setattr__(self, "train", Training(**self.train))

    @property
    def added(self) -> WrittenQueries | None:
        """The queries that are written for documents, which the encoder is trained on."""
        return self.train.written if self.train else None

    @property
    def said(self) -> list[str]:
        """Names of the settings that the configuration says, in order."""
        return sorted(key for key, value in asdict(self).items() if key not in NOT_SAID and value not in (None, {}))

    @property
    def encoding(self) -> EncoderSettings:
        """Return the settings that determine the vectors of texts."""
        return EncoderSettings(**{each.name: getattr(self, each.name) for each in fields(EncoderSettings)})

    @property
    def trained(self) -> "DenseSettings":
        """The same without a place of the model: a trained one is where its record is."""
        nothing = dict.fromkeys(
            ("revision", "offline", "weights_sha256", "query_model", "query_revision", "encoder", "arguments")
        )
        return replace(self, model="", weights="model.safetensors", **nothing)  # type: ignore[arg-type]  # by their names

    def without_instruction(self, datasets: Iterable[str]) -> list[str]:
        """Those of some datasets whose queries need an instruction that is not there."""
        needed = INSTRUCTION in (self.query_prefix or "")
        return [dataset for dataset in datasets if needed and dataset not in self.instructions]

    def for_dataset(self, dataset: str, corpus: str = "") -> "DenseSettings":
        """The same as it is for one dataset: the prefix of its queries, and the task that a class of the user's own is told.

        Args:
            dataset: Name of the dataset.
            corpus: Name of its forum, with that of the dataset; empty for a dataset without forums.

        Returns:
            The settings.
        """
        if self.encoder:
            return replace(self, task=self.tasks.get(corpus or dataset, corpus or dataset))
        if self.query_prefix is None or dataset not in self.instructions:
            return self
        return replace(self, query_prefix=self.query_prefix.replace(INSTRUCTION, self.instructions[dataset]))


_MODEL = {each.name for each in fields(ModelSettings)}


OF_A_VARIANT = ("variant_of", "vectors", "stored_dimensions")
"""Settings that no vector that is encoded depends on."""

NOT_SAID = (*_MODEL, *OF_A_VARIANT, "train", "task", "tasks")
"""Settings that are shown as something else, or that no configuration has."""

NOT_OF_VECTORS = ("similarity", "instructions", "tasks", "weights_sha256", "train", *OF_A_VARIANT)
"""Settings that change no vector, or change it as the record of the model says."""
