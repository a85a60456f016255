"""The settings of a dense system."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal

from beirflow.core.extensions import forms
from beirflow.core.keys import HIDDEN, As, Instructions, Keys, Similarity, UpToMillion
from beirflow.core.layout import MODEL, MODEL_OF_DATASET_RECORD
from beirflow.core.patterns import Pattern
from beirflow.families.formed import key_in, value_in, with_forms
from beirflow.models.settings import INSTRUCTION, LIBRARY, OF_LIBRARY, EncoderSettings, ModelSettings


@with_forms
@dataclass(frozen=True)
class DenseSettings(EncoderSettings):
    """An encoder, and the comparison of its vectors."""

    similarity: Similarity | None = None
    """How two vectors are compared."""
    instructions: Annotated[Mapping[str, str], As(Instructions)] = field(default_factory=dict)
    """By dataset, what its queries are for; written where query_prefix has {instruction}. As in the catalogue if left out."""
    # by dataset and by forum, its task in MTEB, for a class of the user's own; empty for a model
    tasks: Annotated[Mapping[str, str], HIDDEN] = field(default_factory=dict)
    # the system whose vectors are compressed and searched, and whose encoder this is; None for vectors of its own
    variant_of: Annotated[str | None, HIDDEN] = None
    vectors: Annotated[str, HIDDEN] = "float32"  # stored type of a variant's vectors
    stored_dimensions: Annotated[int | None, HIDDEN] = None  # number of leading dimensions that a variant stores; None for all

    kinds: ClassVar = {
        f"encoder: {LIBRARY}": Keys(
            ("encoder", "model", "similarity"), (*OF_LIBRARY, "query_prefix", "document_prefix", "instructions")
        ),
        "encoder": Keys(("encoder", "similarity"), ("arguments",)),
        "model": Keys(("model",), without=("encoder", "arguments")),
    }

    def __post_init__(self) -> None:
        """Convert a form from a configuration, the parameters of a rule or a manifest."""
        if key := key_in(vars(self)):
            object.__setattr__(self, key, value_in(vars(self)))

    @property
    def form(self) -> Any:
        """Settings of the form in which the encoder is made for each dataset, beginning with ``model``; None for one encoder."""
        return value_in(vars(self))

    @property
    def added(self) -> Any:
        """Expansion of documents that the encoder is made from; None without one."""
        return self.form.added if self.form else None

    @property
    def configured(self) -> list[str]:
        """Names of the configured settings, sorted."""
        return sorted(key for key, value in asdict(self).items() if key not in NOT_CONFIGURED and value not in (None, {}))

    @property
    def encoding(self) -> EncoderSettings:
        """Settings that determine the vectors of texts."""
        return EncoderSettings(**{each.name: getattr(self, each.name) for each in fields(EncoderSettings)})

    @property
    def variant(self) -> dict[str, str | int | None]:
        """Compression of the vectors that are searched, and the system that has them."""
        return {key.removeprefix("stored_"): getattr(self, key) for key in OF_A_VARIANT}

    @property
    def model_record(self) -> Pattern:
        """Path of the record of the encoder."""
        return MODEL_OF_DATASET_RECORD if self.form else MODEL

    @property
    def used_encoding(self) -> EncoderSettings:
        """The same without a place of an encoder that is made for each dataset: it is next to its record."""
        if not self.form:
            return self.encoding
        names = ("revision", "offline", "weights_sha256", "query_model", "query_revision", "encoder", "arguments")
        nothing = dict.fromkeys(names)
        return replace(self.encoding, model="", weights="model.safetensors", **nothing)  # type: ignore[arg-type]  # by their names

    def for_dataset(self, dataset: str, corpus: str = "") -> "DenseSettings":
        """Return the settings for a dataset: the prefix of its queries, and the task of a class of the user's own.

        ``corpus`` is the name of a forum, with that of the dataset; empty for a dataset without forums.
        """
        if self.encoder and not self.model:
            return replace(self, task=self.tasks.get(corpus or dataset, corpus or dataset))
        # The instruction is known per dataset, not per forum.
        if self.query_prefix is None or dataset not in self.instructions:
            return self
        return replace(self, query_prefix=self.query_prefix.replace(INSTRUCTION, self.instructions[dataset]))


@dataclass(frozen=True)
class Variant:
    """The vectors of another dense system, compressed or compared otherwise. It encodes nothing of its own."""

    variant_of: str
    """Name of the dense system whose vectors are compressed."""
    vectors: Literal["float32", "float16", "int8", "binary"] = "float32"
    """What is stored of a vector, and searched; int8 is 256 steps between the least and largest value of a dimension, binary the
    signs."""
    similarity: Similarity | None = None
    """How two vectors are compared, with vectors in float32; as by that system unless stated."""
    dimensions: UpToMillion | None = None
    """How many of the first dimensions are stored, for models that were trained for it (Matryoshka); all unless stated."""

    without: ClassVar = ("trained_on",)
    kinds: ClassVar = {"similarity": Keys(types={"vectors": Literal["float32"]}), "variant_of": Keys()}


@dataclass(frozen=True)
class Formed:
    """A dense system with a model for each dataset, in the form of an extension, which adds a key."""

    base: Annotated[str | Mapping[str, Any], As(str | DenseSettings)]
    """The base encoder: the name of a dense system, or the settings of one."""


_MODEL = {each.name for each in fields(ModelSettings)}

OF_A_VARIANT = ("variant_of", "vectors", "stored_dimensions")  # settings that no vector that is encoded depends on

NOT_CONFIGURED = (*_MODEL, *OF_A_VARIANT, *forms(), "task", "tasks")
"""Settings that are shown as something else, or that no configuration has."""
