"""The settings of an expansion: the model or the files, and how it is used."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Interval

from beirflow.core.keys import (
    HIDDEN,
    As,
    Digest,
    JsonLines,
    Keys,
    MostProbable,
    Package,
    PositiveShare,
    Revision,
    Seed,
    Text,
    Tokens,
    TorchWeights,
    WrittenTokens,
)
from beirflow.models.settings import ModelSettings

DATASET = "{dataset}"  # placeholder for the name of a corpus in a path
DIGITS = 10  # digits of the digest in a name: two expansions of one experiment never share it
PLACES = ("offline", "weights_sha256")  # settings that locate or verify a model, and change nothing that it makes


@dataclass(frozen=True)
class Expansion:
    """Additions to documents, by a model or from files."""

    model: Text = ""  # empty where there is a "path"
    """Hub id, folder, or package:<import name>/<folder>."""
    revision: Revision | None = None
    """Commit of the hub repository."""
    offline: Package | None = None
    """Where the same weights are without a hub."""
    weights: TorchWeights = "model.safetensors"
    """File that holds the weights. A pytorch_model.bin is read as tensors only, never as code."""
    weights_sha256: Digest | None = None
    """Digest of that file."""
    path: JsonLines | None = None
    """JSON lines in place of a model, with {dataset} in place of the name of a corpus."""
    max_length: Tokens | None = None
    """Tokens after which a document is cut, special tokens included."""

    kind: ClassVar[str] = ""
    kinds: ClassVar = {"path": Keys(("path",), ("join", "scale")), "model": Keys(("model",), without=("path",))}
    of_use: ClassVar[tuple[str, ...]] = ()  # settings of the use of the result, so that one expansion serves several uses

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
    """Queries that are added to documents: a T5 writes them (docT5query), or they are in a file, as 'id' and 'queries'."""

    queries: Annotated[int, Interval(ge=1, le=1000)] = 40
    """Queries written for a document; by default as many as in the paper of BEIR."""
    # or "inject": those of their tokens that the text lacks follow it, each once (uniCOIL)
    join: Annotated[str, As(Literal["append", "field"])] = "append"
    """Way of adding the queries: appended to the text, or as a field of their own, with title and text as the other."""
    max_length: Tokens | None = 512
    """Tokens after which a document is cut."""
    top_k: MostProbable = 10
    """The next token is drawn from this many; 1 takes the most probable."""
    top_p: PositiveShare = 1.0
    """The next token is drawn from the fewest of these whose probabilities reach this sum."""
    query_length: WrittenTokens = 64
    """Tokens after which a query is cut, the first one, which begins every query, included."""
    seed: Seed = 0
    """Seed of the draw, which depends on it and on the document's id."""
    # most documents that queries are written for, drawn by the seed and their ids; None for all
    documents: Annotated[int | None, HIDDEN] = None

    kind: ClassVar[str] = "queries"
    of_use: ClassVar[tuple[str, ...]] = ("join",)

    @property
    def made_by(self) -> dict[str, Any]:
        """Settings that decide what is made; the number of documents only where some are drawn."""
        return {key: value for key, value in super().made_by.items() if key != "documents" or value is not None}


@dataclass(frozen=True)
class WordWeights(Expansion):
    """Importance of each word in its document: a BERT weighs it (DeepCT), or it is in a file, as 'id' and 'weights' by word."""

    scale: Literal["sqrt", "none"] = "sqrt"
    """Frequency of a word of the weight w: a hundred times its square root, or a hundred times w."""
    max_length: Tokens | None = 350
    """Tokens after which a document is cut, special tokens included, or as many as the model reads."""

    kind: ClassVar[str] = "weights"
    of_use: ClassVar[tuple[str, ...]] = ("scale",)


KINDS: dict[str, type[Expansion]] = {each.kind: each for each in (WrittenQueries, WordWeights)}
"""Kinds of expansions by their names."""


def expansion_of(kind: str, settings: Mapping[str, Any]) -> Expansion:
    """Build the settings of an expansion from the parameters of a rule."""
    return KINDS[kind](**settings)
