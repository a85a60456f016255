"""The models that make expansions: their locations, and a check of their kind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.families.expansions.settings import Expansion, expansion_of
from beirflow.models.model_json import architecture_in, read_object
from beirflow.models.model_places import model_folder, problem_with
from beirflow.models.settings import ModelSettings

TYPES = ("t5", "mt5")  # types of models that write queries; they have one architecture

CLASSIFIER = "ForTokenClassification"


def model_problem(expansion: Expansion) -> str | None:
    """Return why the model of an expansion cannot be used, as far as the disk can tell; None if it can."""
    model = expansion.as_model()
    return problem_with(model, lambda: check_kind(expansion, model_folder(model)))


def check_kind(expansion: Expansion, folder: Path) -> None:
    """Make sure that the model in a folder can make an expansion. Raises ModelError if it is of another kind."""
    config = read_object(folder / "config.json")
    name = architecture_in(config) or "nothing"
    if expansion.kind == "queries" and config.get("model_type") not in TYPES:
        problem = f"{folder}/config.json says that the model is of the type {config.get('model_type')!r}"
        raise ModelError(f"{problem}; queries are written by a T5, of the type {' or '.join(TYPES)}")
    if expansion.kind == "weights" and not name.endswith(CLASSIFIER):
        raise ModelError(f"{folder}/config.json says that the model is {name}; expected DeepCT's kind, …{CLASSIFIER}")


def model_of(kind: str, settings: Mapping[str, Any]) -> ModelSettings:
    """Return the place of an expansion's model, from the parameters of a rule."""
    return expansion_of(kind, settings).as_model()
