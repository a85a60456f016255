"""The settings of an expansion: the model or the files, and how it is used."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from beirflow.models.settings import ModelSettings

DATASET = "{dataset}"
"""Placeholder for the name of a corpus in a path."""

DIGITS = 10
"""Of the digest in a name: two expansions of one experiment never share it."""

PLACES = ("offline", "weights_sha256")
"""Settings that say where a model is or what it must be, and change nothing that it makes."""


@dataclass(frozen=True)
class Expansion:
    """Additions to documents, by a model or from files; the schema checks the entries.

    Attributes:
        model: Hub id, folder, or ``package:<import name>/<folder>``; empty where there is a ``path``.
        revision: Commit of the hub repository.
        offline: Where the same weights are found without a hub.
        weights: Name of the file that holds the weights.
        weights_sha256: Its digest; None where it is not known.
        path: JSONL in place of a model, with ``{dataset}`` in place of the name of a corpus.
        max_length: Tokens after which a document is cut, special tokens included.
    """

    model: str = ""
    revision: str | None = None
    offline: str | None = None
    weights: str = "model.safetensors"
    weights_sha256: str | None = None
    path: str | None = None
    max_length: int | None = None

    kind: ClassVar[str] = ""
    of_use: ClassVar[tuple[str, ...]] = ()
    """Settings that say how what was made is used, so that one expansion serves several uses."""

    @property
    def made_by(self) -> dict[str, Any]:
        """The settings that decide what is made; of files only where they are."""
        settings = {"kind": self.kind, **asdict(self)}
        if self.path is not None:
            return {key: settings[key] for key in ("kind", "path")}
        return {key: value for key, value in settings.items() if key not in (*PLACES, *self.of_use)}

    @property
    def name(self) -> str:
        """Return its name in paths: the model or file, and a digest of the settings that decide its content."""
        digest = hashlib.sha256(json.dumps(self.made_by, sort_keys=True).encode()).hexdigest()[:DIGITS]
        file = None if self.path is None else Path(self.path).name.partition(".jsonl")[0].replace(DATASET, "")
        place = self.model.rstrip("/").rpartition("/")[2] if file is None else file
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", place).strip("-_")[:60]
        return f"{stem or 'given'}-{digest}"

    def file(self, dataset: str) -> Path | None:
        """The file that holds it for a corpus; None where a model makes it."""
        return None if self.path is None else Path(self.path.replace(DATASET, dataset)).expanduser()

    def as_model(self) -> ModelSettings:
        """Return the place of the model."""
        names = ("model", "revision", "offline", "weights", "weights_sha256")
        return ModelSettings(self.name, **{key: getattr(self, key) for key in names})


@dataclass(frozen=True)
class WrittenQueries(Expansion):
    """Queries that a document might answer, written by a T5 (docT5query).

    Attributes:
        queries: How many are written for a document.
        join: ``append``, they stand behind the text; ``field``, they are a field of their own; or ``inject``, those of their
            tokens that the text does not have stand behind it, each once (uniCOIL).
        top_k: The next token is drawn from this many, the most probable ones; 1 always takes the first.
        top_p: And of these from the fewest whose probabilities reach this sum.
        query_length: Tokens after which a query is cut, the first one, which begins every query, included.
        seed: Of the draw.
        documents: Most documents that queries are written for, drawn by the seed and their ids; None for all.
    """

    queries: int = 40
    join: str = "append"
    max_length: int | None = 512
    top_k: int = 10
    top_p: float = 1.0
    query_length: int = 64
    seed: int = 0
    documents: int | None = None

    kind: ClassVar[str] = "queries"
    of_use: ClassVar[tuple[str, ...]] = ("join",)

    @property
    def made_by(self) -> dict[str, Any]:
        """The settings that decide what is made; how many documents are drawn only where some are."""
        return {key: value for key, value in super().made_by.items() if key != "documents" or value is not None}


@dataclass(frozen=True)
class WordWeights(Expansion):
    """Importance of each word in its document, weighed by a BERT (DeepCT).

    Attributes:
        scale: How a weight becomes the frequency of a word: ``sqrt``, a hundred times its root; or ``none``, a hundred times it.
    """

    scale: str = "sqrt"
    max_length: int | None = 350

    kind: ClassVar[str] = "weights"
    of_use: ClassVar[tuple[str, ...]] = ("scale",)


KINDS: dict[str, type[Expansion]] = {each.kind: each for each in (WrittenQueries, WordWeights)}
"""By their names."""


def expansion_of(kind: str, settings: Mapping[str, Any]) -> Expansion:
    """Build the settings of an expansion from the parameters of a rule."""
    return KINDS[kind](**settings)


def model_of(kind: str, settings: Mapping[str, Any]) -> ModelSettings:
    """Return the place of an expansion's model, from the parameters of a rule."""
    return expansion_of(kind, settings).as_model()
