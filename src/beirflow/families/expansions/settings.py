"""The settings of an expansion: the model or the files, and how it is used."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from beirflow.models.settings import ModelSettings

DATASET = "{dataset}"  # placeholder for the name of a corpus in a path
DIGITS = 10  # digits of the digest in a name: two expansions of one experiment never share it
PLACES = ("offline", "weights_sha256")  # settings that say where a model is or what it must be, and change nothing that it makes


@dataclass(frozen=True)
class Expansion:
    """Additions to documents, by a model or from files; the schema checks the entries."""

    model: str = ""  # hub id, folder, or "package:<import name>/<folder>"; empty where there is a "path"
    revision: str | None = None  # commit of the hub repository
    offline: str | None = None  # where the same weights are found without a hub
    weights: str = "model.safetensors"  # name of the file that holds the weights
    weights_sha256: str | None = None  # its digest; None where it is not known
    path: str | None = None  # JSONL in place of a model, with "{dataset}" in place of the name of a corpus
    max_length: int | None = None  # tokens after which a document is cut, special tokens included

    kind: ClassVar[str] = ""
    of_use: ClassVar[tuple[str, ...]] = ()  # settings of how the result is used, so that one expansion serves several uses

    @property
    def made_by(self) -> dict[str, Any]:
        """Settings that decide what is made; of files only where they are."""
        settings = {"kind": self.kind, **asdict(self)}
        if self.path is not None:
            return {key: settings[key] for key in ("kind", "path")}
        return {key: value for key, value in settings.items() if key not in (*PLACES, *self.of_use)}

    @property
    def name(self) -> str:
        """Name in paths: the model or file, and a digest of the settings that decide its content."""
        digest = hashlib.sha256(json.dumps(self.made_by, sort_keys=True).encode()).hexdigest()[:DIGITS]
        file = None if self.path is None else Path(self.path).name.partition(".jsonl")[0].replace(DATASET, "")
        place = self.model.rstrip("/").rpartition("/")[2] if file is None else file
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", place).strip("-_")[:60]
        return f"{stem or 'given'}-{digest}"

    def file(self, dataset: str) -> Path | None:
        """Return the file that holds it for a corpus; None where a model makes it."""
        return None if self.path is None else Path(self.path.replace(DATASET, dataset)).expanduser()

    def as_model(self) -> ModelSettings:
        """Return the place of the model."""
        names = ("model", "revision", "offline", "weights", "weights_sha256")
        return ModelSettings(self.name, **{key: getattr(self, key) for key in names})


@dataclass(frozen=True)
class WrittenQueries(Expansion):
    """Queries that a document might answer, written by a T5 (docT5query)."""

    queries: int = 40  # for each document
    # "append", they stand behind the text; "field", they are a field of their own; or "inject", those of their tokens that the
    # text does not have stand behind it, each once (uniCOIL).
    join: str = "append"
    max_length: int | None = 512
    top_k: int = 10  # the next token is drawn from this many, the most probable ones; 1 always takes the first
    top_p: float = 1.0  # and of these from the fewest whose probabilities reach this sum
    query_length: int = 64  # tokens after which a query is cut, the first one, which begins every query, included
    seed: int = 0  # of the draw
    documents: int | None = None  # most documents that queries are written for, drawn by the seed and their ids; None for all

    kind: ClassVar[str] = "queries"
    of_use: ClassVar[tuple[str, ...]] = ("join",)

    @property
    def made_by(self) -> dict[str, Any]:
        """Settings that decide what is made; the number of documents only where some are drawn."""
        return {key: value for key, value in super().made_by.items() if key != "documents" or value is not None}


@dataclass(frozen=True)
class WordWeights(Expansion):
    """Importance of each word in its document, weighed by a BERT (DeepCT)."""

    scale: str = "sqrt"  # of a weight into a frequency: "sqrt", a hundred times its root; or "none", a hundred times it
    max_length: int | None = 350

    kind: ClassVar[str] = "weights"
    of_use: ClassVar[tuple[str, ...]] = ("scale",)


KINDS: dict[str, type[Expansion]] = {each.kind: each for each in (WrittenQueries, WordWeights)}
"""Kinds of expansions by their names."""


def expansion_of(kind: str, settings: Mapping[str, Any]) -> Expansion:
    """Build the settings of an expansion from the parameters of a rule."""
    return KINDS[kind](**settings)
