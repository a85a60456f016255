"""Steps that weigh one kind of text, and the files of a model folder for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from beirflow.files.errors import ModelError
from beirflow.models.card_modules import refuse_type, refuse_what_is_not_hashed
from beirflow.models.model_layout import TOKENIZER_FILES, weight_files

WEIGHTS = ("model.safetensors", "pytorch_model.bin")

AROUND = 3
"""Special tokens of a document with an expansion: before the text, behind it, and at the end."""


@dataclass(frozen=True)
class Part:
    """Steps that weigh one kind of text, queries or documents.

    Attributes:
        kind: ``splade``, ``unicoil`` or ``sparta``, by a model; ``table``, by a table of weights; ``tokens``, every token weighs
            1; or ``counts``, as often as it occurs.
        folder: Of the tokenizer, and of the model or table.
        weights: The files that hold weights; none of ``tokens`` and ``counts``.
        pooling: ``max`` or ``sum``, of ``splade``.
        activation: ``relu`` or ``log1p_relu``, of ``splade``.
        max_length: Tokens after which a text is cut; what the tokenizer says if None.
        prefix: What is written before every text.
        most_terms: Terms kept of a text; None for all.
        text_length: Tokens after which a text is cut before what is added to it; None where nothing is.
        expansion_length: Tokens after which that is cut; None where nothing is added.
    """

    kind: str
    folder: Path
    weights: tuple[Path, ...] = ()
    pooling: str = "max"
    activation: str = "relu"
    max_length: int | None = None
    prefix: str = ""
    most_terms: int | None = None
    text_length: int | None = None
    expansion_length: int | None = None


class Parts(NamedTuple):
    """Steps that weigh documents and queries."""

    documents: Part
    queries: Part

    def of(self, kind: str) -> Part:
        """The part for ``queries`` or ``documents``."""
        return self.queries if kind == "queries" else self.documents


def weights_in(folder: Path, weights: str) -> tuple[Path, ...]:
    """The files with the weights.

    Args:
        folder: The folder of the model.
        weights: The name of the preferred file.

    Returns:
        The file, or its parts if an index names several; of another format if there is no other.

    Raises:
        ModelError: There is none.
    """
    for name in dict.fromkeys((weights, *WEIGHTS)):
        if found := weight_files(folder, name):
            return tuple(found)
    raise ModelError(f"{folder} has no {weights}; save the model as safetensors, or name its file in 'weights'")


def check_model(folder: Path) -> None:
    """Refuse a folder that is no model, or whose model cannot be weighed with.

    Args:
        folder: The folder of the model.

    Raises:
        ModelError: A file is missing, or its model type is refused.
    """
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} has no config.json, so it is not a model folder")
    refuse_what_is_not_hashed(folder)
    refuse_type(folder)
    check_tokenizer(folder)


def check_tokenizer(folder: Path) -> None:
    """Refuse a folder without a tokenizer.

    Args:
        folder: The folder of the model.

    Raises:
        ModelError: There is none.
    """
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        todo = "as tokenizer.save_pretrained writes"
        raise ModelError(f"{folder} has no tokenizer; one of {', '.join(TOKENIZER_FILES)} was expected, {todo}")
