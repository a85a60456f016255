"""The models that make expansions: their files, and the extensions that use them."""

from collections.abc import Mapping
from pathlib import Path

from beirflow.core.extensions import Maker, extensions
from beirflow.families.expansions.settings import Expansion
from beirflow.models.model_files import model_files
from beirflow.run.by_name import by_name


def makers() -> Mapping[str, Maker]:
    """Return the functions of extensions that make expansions with models, by kind of expansion."""
    return {kind: maker for extension in extensions() for kind, maker in extension.makers.items()}


def model_problem(expansion: Expansion) -> str | None:
    """Return why the model of an expansion cannot be used, judged by the disk alone; None if it can, or without a model."""
    if expansion.path is not None:
        return None
    maker = makers().get(expansion.kind)
    if maker is None:
        need = f"{expansion.kind} from a model need an extension that makes them (docs/extensions.md)"
        return f"{need}; or name a file that has them as 'path'"
    problem: str | None = by_name(maker.problem)(expansion)
    return problem


def expansion_files(expansion: Expansion) -> list[Path]:
    """Return the files of the model of an expansion, as far as they need no hub."""
    return [] if expansion.path is not None else model_files(expansion.as_model())
